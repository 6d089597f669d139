// clients.h: whose connections there are at the moment: how many there may be, and how all of them come to an end.
//
// A client is between two requests (idle), or in the middle of one (busy). At the end idle ones are closed, and busy ones go on until their request is
// answered. To close an idle one its read deadline is moved to now, from elsewhere: the read ends as if the client had been silent for too long.
//
// Invariant: I1. Of a client that is idle only end_all() moves the read deadline; of one that is busy only its own green thread does. Who changes between
//                the two holds the entry's lock.
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
    // One client, as long as its connection is served. It begins busy.
    class entry {
    public:
        // connection must live longer.
        entry(clients& among, weft::net::tcp_stream& connection);
        ~entry();

        entry(const entry&) = delete;
        entry& operator=(const entry&) = delete;

        // The client's next request is waited for from now on, for so long. False: there will be no more.
        [[nodiscard]] bool begin_idle(std::chrono::milliseconds time);
        void end_idle();

        // Whether this request is the last one.
        [[nodiscard]] bool is_last();

    private:
        friend class clients;

        clients& among_;
        weft::net::tcp_stream& connection_;
        weft::mutex lock_;
        bool is_idle_ = false;  // guarded by lock_, as the next one
        bool is_ending_ = false;
    };

    explicit clients(std::size_t most) noexcept : most_(most) {}

    // A place for one more. False: there are as many as there may be.
    [[nodiscard]] bool reserve();

    // The place is free again: the connection has gone.
    void give_back();

    // Closes idle connections, and waits for the busy ones; those that are there after the grace are cut off. Returns how many those were.
    std::size_t end_all(std::chrono::milliseconds grace);

private:
    const std::size_t most_;
    weft::mutex lock_;
    weft::condition_variable gone_;
    std::size_t places_taken_ = 0;  // guarded by lock_, as the next ones
    bool is_ending_ = false;
    std::unordered_set<entry*> entries_;
};

}  // namespace reverse_proxy
