// every_wait.h: every call of the public headers that blocks, and what ends it: a deadline around
// it, a cancellation, closing what it waits for, or a runtime that stops.
//
// docs/cancellation.md has the same table in prose. cancellation_points.h has more forms of the
// calls that a deadline and a cancellation end. TLS has its own tests (test/tls/).
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <vector>

namespace weft::test {

// How a call ended.
enum class call_end {
    returned,
    timed_out,  // It threw weft::timed_out.
    cancelled,  // It threw weft::cancelled.
    closed,     // It threw weft::errc::closed or weft::channel_closed.
    failed,     // It threw something else.
};

// A prepared call.
struct blocking_call {
    std::function<void()> wait;     // Makes the call: blocks until something ends it.
    std::function<void()> close;    // Closes what the call waits for. Empty: it cannot be closed.
    std::function<void()> release;  // Ends the call the intended way. Empty: one of the above ends it.
    std::shared_ptr<void> state;    // What the functions use.
};

struct blocking_row {
    const char* call;
    std::function<blocking_call()> make;  // The test's thread calls this, close and release.
    bool interrupted = true;              // A deadline, a cancellation and a stop end it.
    call_end when_closed = call_end::closed;
    bool on_os_thread = false;  // It does not park.
};

[[nodiscard]] const std::vector<blocking_row>& blocking_rows();

// Until open_name_server() is called, lookups of names get no answer. close_name_server() undoes
// that.
void close_name_server();
void open_name_server();

}  // namespace weft::test
