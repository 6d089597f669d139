// every_wait.h: each call of the public headers that blocks, and what ends it: a deadline around it, a cancellation, closing what it waits for,
// and a runtime that stops. docs/cancellation.md has the same table in words. cancellation_points.h has more forms of those that a deadline
// and a cancellation end; TLS has tests of its own (test/tls/).
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <vector>

namespace weft::test {

// How a call has ended.
enum class call_end {
    returned,
    timed_out,  // it threw weft::timed_out
    cancelled,  // it threw weft::cancelled
    closed,     // it threw weft::errc::closed, or weft::channel_closed
    failed,     // it threw something else
};

// A call that is about to be made.
struct blocking_call {
    std::function<void()> wait;     // makes it: blocks until something ends it
    std::function<void()> close;    // closes what it waits for; none: there is nothing to close
    std::function<void()> release;  // ends it as it is meant to end; none: something of the above ends it
    std::shared_ptr<void> state;    // what they use
};

struct blocking_row {
    const char* call;
    std::function<blocking_call()> make;  // by the test's thread, and so are close and release
    bool interrupted = true;              // a deadline, a cancellation and a stop end it
    call_end when_closed = call_end::closed;
    bool on_os_thread = false;  // it does not park
};

[[nodiscard]] const std::vector<blocking_row>& blocking_rows();

// Names are looked up in vain until open_name_server() is called, which close_name_server() undoes.
void close_name_server();
void open_name_server();

}  // namespace weft::test
