// visitors.h: whose connections there are: how many there may be, and how all of them come to an end.
#pragma once

#include <chrono>
#include <cstddef>
#include <unordered_set>

#include <weft/condition_variable.h>
#include <weft/mutex.h>

#include "wire.h"

namespace websocket_chat {

class visitors {
public:
    explicit visitors(std::size_t most) noexcept : most_(most) {}

    // A place for one more. False: there are as many as there may be.
    [[nodiscard]] bool reserve();
    void give_back();

    // From here to remove() its end may come from end_all(). False: it has come already.
    [[nodiscard]] bool add(wire& w);
    void remove(wire& w);

    // Says goodbye to everybody, and returns when all have gone; those who do not answer within that time are cut off.
    void end_all(std::chrono::milliseconds close_time);

private:
    const std::size_t most_;
    weft::mutex lock_;
    weft::condition_variable gone_;
    std::size_t places_taken_ = 0;  // guarded by lock_, as the next ones
    bool is_ending_ = false;
    std::unordered_set<wire*> wires_;
};

}  // namespace websocket_chat
