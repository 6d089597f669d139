// error.h: what weft throws, and how an operation that may not block tells how it went.
//
// Misuse (unlocking what is not locked, closing twice) is not here: it ends the process with a report that names the
// green thread. What merely happens is reported by value or by one of these.
#pragma once

#include <stdexcept>
#include <string>
#include <system_error>

#include <weft/detail/require.h>

namespace weft {

// Thrown by chan<T>::send when the channel is closed, also when it is closed while send waits.
class channel_closed : public std::runtime_error {
public:
    channel_closed() : std::runtime_error("weft: send on closed channel") {}
};

// Thrown by go, async and runtime::start when address space for stacks, or threads, have run out. code() is the operating system's
// reason; what() says what was asked for and what to do. Nothing is lost: the call can be repeated.
class resource_exhausted : public std::system_error {
public:
    resource_exhausted(std::error_code why, const std::string& what) : std::system_error(why, what) {}
};

// Thrown by a cancellation point when the scope or future around the caller was cancelled. Not derived from std::exception, so that
// catch (const std::exception&) does not stop it on its way out.
class cancelled {
public:
    [[nodiscard]] const char* what() const noexcept { return "weft: cancelled"; }
};

// Thrown by a cancellation point when the deadline of a with_deadline or with_timeout around the caller has passed. As cancelled.
class timed_out {
public:
    [[nodiscard]] const char* what() const noexcept { return "weft: deadline passed"; }
};

// What the overloads with a std::error_code& report instead of throwing. Equivalent to std::errc::operation_canceled, timed_out,
// broken_pipe and bad_file_descriptor.
enum class errc {
    cancelled = 1,
    timed_out,
    channel_closed,
    closed,  // a socket or file was closed by this program, before the call or during it
};

[[nodiscard]] const std::error_category& error_category() noexcept;

[[nodiscard]] inline std::error_code make_error_code(errc e) noexcept {
    return {static_cast<int>(e), error_category()};
}

// How an operation with a bounded wait ended.
enum class chan_status {
    ok,           // done
    would_block,  // try_ form: nothing could be done at once
    timeout,      // _for and _until forms: the time was up first
    closed,       // the channel is closed (and, for a receive, drained)
};

}  // namespace weft

template <>
struct std::is_error_code_enum<weft::errc> : std::true_type {};
