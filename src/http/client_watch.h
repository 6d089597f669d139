// client_watch.h: notices that a client closes its connection while a handler works for it.
//
// Problem. A handler that waits for a database need not finish if its client has gone. Only a read
// of the socket notices that, and the connection's green thread runs the handler.
//
// Rejected: A green thread per connection or per request that reads. Most handlers return within
// microseconds, and would pay for starting and stopping it.
//
// Protocol. A timer per connection, which is armed only while requests come.
//
//   1. begin() notes the request. If the timer is not armed, it arms it.
//   2. The timer fires after watch_delay. If the request that is now being handled is not the one
//      that was at the last time, it is armed again; if none is being handled, it is not. If the
//      handler has not read the body yet, it is armed again for twice the time.
//   3. Otherwise the handler is slow. The timer's green thread reads from the connection. The end,
//      or an error, cancels the handler. Bytes are of the next request: they are kept, and no
//      read follows until they are parsed. So a client that sends ahead is not watched.
//   4. end() ends such a read by a deadline that has passed, and waits for it.
//
// So a fast handler costs one lock, and the timer fires at most once in watch_delay.
//
// Invariants: I1. The watch reads only between begin() and end(), and only after body_ended(): the
//                 connection then reads nothing itself.
//             I2. The object outlives the timer's green thread (shared_ptr); the connection
//                 outlives its use of it, because close() waits.
//             I3. It reads only if nothing is pending. Otherwise each slow request could add a read
//                 to what is kept, without any limit.
// Ordering: R1 (the handler has read what came before) pairs with A1 (the watch reads on).
// Threads: begin, end, close: the connection; body_ended, stop_reading: the handler; on_timer: the
//          timer.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>

#include <weft/condition_variable.h>
#include <weft/detail/cancel.h>
#include <weft/http/detail/transport.h>
#include <weft/mutex.h>
#include <weft/timer.h>

#include "http/input.h"

namespace weft::http::detail {

class client_watch : public std::enable_shared_from_this<client_watch> {
public:
    // Both must live until close() returns.
    client_watch(transport& client, input& pending) noexcept : client_(client), pending_(pending) {}

    // A handler begins. running is cancelled by cancel(), and if is_watched, when the client goes.
    void begin(weft::detail::cancel_context& running, bool has_body, bool is_watched);

    // The handler has read the body of its request.
    void body_ended() noexcept { has_body_.store(false, std::memory_order_release); }  // R1

    // The handler reads from the client itself from now on, until a later begin().
    void stop_reading();

    // The handler has returned. Returns whether the client has gone.
    bool end();

    // Waits for the timer. Nothing is called after that.
    void close();

    // Cancels the handler that runs, if any.
    void cancel();

private:
    void on_timer();
    void arm();
    void read_on();
    void end_read(std::unique_lock<weft::mutex>& locked);

    transport& client_;
    input& pending_;
    std::atomic<bool> has_body_ = false;

    weft::mutex lock_;
    weft::condition_variable changed_;
    // Guarded by lock_.
    weft::detail::cancel_context* running_ = nullptr;
    weft::timer timer_;
    bool has_timer_ = false;
    bool is_armed_ = false;
    bool is_reading_ = false;
    bool is_stopped_ = false;
    bool is_gone_ = false;
    std::chrono::milliseconds delay_{0};
    uint64_t request_ = 0;
    uint64_t seen_ = 0;
};

}  // namespace weft::http::detail
