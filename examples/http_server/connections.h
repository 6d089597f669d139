// connections.h: the table of current connections. It limits their number and ends all of them.
//
// A connection is idle (between two requests) or busy (within one). At the end, idle connections
// are closed, and busy ones continue until their request is answered. end_all() closes an idle
// connection by setting its read deadline to now: the read ends as after a timeout.
//
// Invariant: I1. The deadline of an idle connection is moved only by end_all(); that of a busy one
//                only by the connection itself. A change between the two states needs the entry's
//                lock.
//
// Locks: the table's, then an entry's.
#pragma once

#include <chrono>
#include <cstddef>
#include <unordered_set>

#include <weft/condition_variable.h>
#include <weft/mutex.h>

#include "transport.h"

namespace http_server {

class connections {
public:
    // One connection, for its lifetime.
    class entry {
    public:
        // client must outlive the entry.
        entry(connections& among, transport& client);
        ~entry();

        entry(const entry&) = delete;
        entry& operator=(const entry&) = delete;

        // Marks the connection as idle: it waits for a request, for at most time. Returns false if
        // the server is ending and takes no more requests.
        [[nodiscard]] bool begin_idle(std::chrono::milliseconds time);
        void end_idle();

        // Whether the current request must be the last one of this connection.
        [[nodiscard]] bool is_last();

    private:
        friend class connections;

        connections& among_;
        transport& client_;
        weft::mutex lock_;
        bool is_idle_ = false;  // guarded by lock_, like the next one
        bool is_ending_ = false;
    };

    explicit connections(std::size_t most) noexcept : most_(most) {}

    // Reserves a place for a connection. Returns false if the maximum is reached.
    [[nodiscard]] bool reserve();

    // Releases a place, after the connection has ended.
    void give_back();

    // Closes idle connections and waits for the busy ones. Those that remain after the grace period
    // are cut off; returns their number.
    std::size_t end_all(std::chrono::milliseconds grace);

private:
    const std::size_t most_;
    weft::mutex lock_;
    weft::condition_variable gone_;
    std::size_t places_taken_ = 0;  // guarded by lock_, like the next ones
    bool is_ending_ = false;
    std::unordered_set<entry*> entries_;
};

}  // namespace http_server
