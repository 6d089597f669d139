// rooms.h: distributes messages to the members of a room.
//
// A message goes into the queue of every member of the room, without waiting. If a queue is full,
// its member reads too slowly, and is cut off. Memory is therefore bounded, and a client that does
// not read cannot block a room.
//
// Threads: any thread. Nothing waits while it holds the lock.
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

// A member of a room.
class member {
public:
    // cut_off ends the connection. It must not wait, and may be called several times.
    member(std::string name, std::size_t queue, std::function<void()> cut_off)
        : name_(std::move(name)), queue_(queue), cut_off_(std::move(cut_off)) {}

    member(const member&) = delete;
    member& operator=(const member&) = delete;

    [[nodiscard]] const std::string& name() const noexcept { return name_; }

    // The frames to send to this member. Closed by the member's own green thread, after it has left
    // the room.
    [[nodiscard]] const weft::chan<frame>& queue() const noexcept { return queue_; }

    void hear(frame f) const;

private:
    const std::string name_;
    const weft::chan<frame> queue_;
    const std::function<void()> cut_off_;
};

class rooms {
public:
    // Returns false if the room has a member with the same name.
    [[nodiscard]] bool enter(const std::string& room, const member& who);
    void leave(const std::string& room, const member& who);

    // Sends to all members of the room, including the speaker, so that all see the same messages in
    // the same order.
    void say(const std::string& room, const frame& what);

private:
    weft::mutex lock_;
    std::unordered_map<std::string, std::vector<const member*>> members_;  // guarded by lock_; no room is empty
};

}  // namespace websocket_chat
