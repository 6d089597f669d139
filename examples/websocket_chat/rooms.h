// rooms.h: who hears what.
//
// What is said is put into the queue of everybody in the room, and nobody waits for anybody: a queue that is full means that its owner takes less than is
// said, and he is cut off. So memory is bounded, and one who does not read cannot silence a room.
//
// Who: any thread. Nothing waits while the lock is held.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <weft/chan.h>
#include <weft/mutex.h>

#include "frame.h"

namespace websocket_chat {

// Somebody in a room.
class member {
public:
    // cut_off ends the connection. It does not wait, and may be called several times.
    member(std::string name, std::size_t queue, std::function<void()> cut_off)
        : name_(std::move(name)), queue_(queue), cut_off_(std::move(cut_off)) {}

    member(const member&) = delete;
    member& operator=(const member&) = delete;

    [[nodiscard]] const std::string& name() const noexcept { return name_; }

    // What is to be sent to him. Closed by his own green thread, after he has left.
    [[nodiscard]] const weft::chan<frame>& queue() const noexcept { return queue_; }

    void hear(frame f) const;

private:
    const std::string name_;
    const weft::chan<frame> queue_;
    const std::function<void()> cut_off_;
};

class rooms {
public:
    // False: there is one of that name already.
    [[nodiscard]] bool enter(const std::string& room, const member& who);
    void leave(const std::string& room, const member& who);

    // To all in the room, the speaker included: so everybody sees the same, in the same order.
    void say(const std::string& room, const frame& what);

private:
    weft::mutex lock_;
    std::unordered_map<std::string, std::vector<const member*>> members_;  // guarded by lock_; no room is empty
};

}  // namespace websocket_chat
