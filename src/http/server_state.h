// server_state.h: what all connections of a server share: settings, handlers, counts, and the table
// of current connections.
//
// A connection is idle (between two requests) or busy (within one). At the end, idle connections
// are closed, and busy ones continue until their request is answered. end() closes an idle
// connection by a read deadline that has passed: the read ends as after a timeout.
//
// Invariant: I1. The read deadline of an idle connection is moved only under its place's lock.
//
// Ordering: R1 (the server ends) pairs with A1. Only the place's lock makes it exact (I1).
//           R2 (what remains is cut off) pairs with A2. A handler that begins is either found by
//           client_watch::cancel(), or finds this: both are under the watch's lock.
//
// Locks: the table's, then a place's.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <unordered_set>
#include <vector>

#include <weft/condition_variable.h>
#include <weft/event.h>
#include <weft/http/server.h>
#include <weft/mutex.h>
#include <weft/semaphore.h>
#include <weft/wait_group.h>

#include "http/client_watch.h"
#include "http/router.h"
#include "http/upgrade.h"

namespace weft::http::detail {

class server_state;

// The place of one connection in the table.
class place {
public:
    // Both must outlive it.
    place(server_state& of, transport& client, client_watch& watch);
    ~place();

    place(const place&) = delete;
    place& operator=(const place&) = delete;

    // The connection is idle, and waits for a request, for at most time. Returns false if the
    // server is ending.
    [[nodiscard]] bool begin_idle(std::chrono::nanoseconds time);
    void end_idle();

    // What is told that the server ends, at once if it is ending already; nullptr: nothing. It must
    // live until another call.
    void drain_by(drain_hook* hook) noexcept;

private:
    friend class server_state;

    server_state& of_;
    transport& client_;
    client_watch& watch_;
    weft::mutex lock_;
    // Guarded by lock_.
    bool is_idle_ = false;
    drain_hook* hook_ = nullptr;
};

class server_state {
public:
    struct counters {
        std::atomic<uint64_t> connections = 0;
        std::atomic<uint64_t> open = 0;
        std::atomic<uint64_t> turned_away = 0;
        std::atomic<uint64_t> requests = 0;
        std::atomic<uint64_t> body_bytes_sent = 0;
        std::array<std::atomic<uint64_t>, 6> responses = {};
    };

    explicit server_state(server_options how);

    // The handlers do not change from now on. Builds the chain of middleware.
    void freeze();

    void accept_from(acceptor& from);
    void serve(accepted one);

    // As server::shutdown().
    std::size_t end(int64_t deadline_ns);

    [[nodiscard]] bool is_ending() const noexcept { return is_ending_.load(std::memory_order_acquire); }  // A1

    // Handlers that begin from now on are cancelled at once.
    [[nodiscard]] bool is_cut_off() const noexcept { return is_cut_off_.load(std::memory_order_acquire); }  // A2

    // Throws std::logic_error if the server already serves.
    void check_not_serving(const char* what);

    const server_options how;
    router routes;
    std::vector<middleware> around;
    handler chain;  // empty without middleware
    weft::event draining;
    counters counted;

private:
    friend class place;

    enum class why_ended : uint8_t { closed, cancelled, failed };

    void accept_until_closed(acceptor& from, std::error_code& ec);
    [[nodiscard]] bool reserve();
    void give_back();
    void start(accepted one);
    void start_turning_away(accepted one);
    [[nodiscard]] bool is_registered(acceptor& from);
    [[nodiscard]] bool begin_turning_away(transport& client);
    void end_turning_away(transport& client);

    static constexpr std::ptrdiff_t turned_away_at_a_time = 32;  // more are closed without a word

    std::atomic<bool> is_ending_ = false;
    std::atomic<bool> is_cut_off_ = false;
    weft::counting_semaphore<turned_away_at_a_time> turning_away_{turned_away_at_a_time};
    weft::wait_group started_;

    weft::mutex lock_;
    weft::condition_variable changed_;
    // Guarded by lock_.
    bool is_frozen_ = false;
    bool has_ended_ = false;
    std::size_t places_taken_ = 0;
    std::unordered_set<place*> places_;
    std::unordered_set<acceptor*> acceptors_;
    std::unordered_set<transport*> turned_away_;  // that still get their 503
};

}  // namespace weft::http::detail
