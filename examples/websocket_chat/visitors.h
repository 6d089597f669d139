// visitors.h: the table of connections. It limits their number and ends all of them.
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

    // Reserves a place for a connection. Returns false if the maximum is reached.
    [[nodiscard]] bool reserve();
    void give_back();

    // From here to remove(), end_all() may end the connection. Returns false if the server is
    // ending already.
    [[nodiscard]] bool add(wire& w);
    void remove(wire& w);

    // Sends a close frame to every client, and returns when all connections have ended. Those that
    // do not answer within close_time are cut off.
    void end_all(std::chrono::milliseconds close_time);

private:
    const std::size_t most_;
    weft::mutex lock_;
    weft::condition_variable gone_;
    std::size_t places_taken_ = 0;  // guarded by lock_, like the next ones
    bool is_ending_ = false;
    std::unordered_set<wire*> wires_;
};

}  // namespace websocket_chat
