// clients.h: the table of connected clients. It limits their number and ends all connections.
//
// A client is idle (between two requests) or busy (within one). At the end, idle connections are
// closed, and busy ones continue until their request is answered. end_all() closes an idle
// connection by setting its read deadline to now: the read ends as after a timeout.
//
// Invariant: I1. The read deadline of an idle client is moved only by end_all(); that of a busy one
//                only by its own green thread. A change between the two states needs the entry's
//                lock.
//
// Locks: the table's, then an entry's.
#pragma once

#include <chrono>
#include <cstddef>
#include <unordered_set>

#include <weft/condition_variable.h>
#include <weft/mutex.h>
#include <weft/net/tcp.h>

namespace reverse_proxy {

class clients {
public:
    // One client, for the lifetime of its connection. It starts busy.
    class entry {
    public:
        // connection must outlive the entry.
        entry(clients& among, weft::net::tcp_stream& connection);
        ~entry();

        entry(const entry&) = delete;
        entry& operator=(const entry&) = delete;

        // Marks the client as idle: it waits for a request, for at most time. Returns false if the
        // proxy is ending and takes no more requests.
        [[nodiscard]] bool begin_idle(std::chrono::milliseconds time);
        void end_idle();

        // Whether the current request must be the last one of this connection.
        [[nodiscard]] bool is_last();

    private:
        friend class clients;

        clients& among_;
        weft::net::tcp_stream& connection_;
        weft::mutex lock_;
        bool is_idle_ = false;  // guarded by lock_, like the next one
        bool is_ending_ = false;
    };

    explicit clients(std::size_t most) noexcept : most_(most) {}

    // Reserves a place for a client. Returns false if the maximum is reached.
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

}  // namespace reverse_proxy
