// error.h: exceptions and error codes of weft, and the status of operations with a bounded wait.
//
// Misuse (unlocking an unlocked lock, closing twice) is not reported here: it ends the process with
// a report that names the green thread. Other conditions are reported by value or by these types.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <system_error>

#include <weft/detail/require.h>

namespace weft {

/// Thrown by chan<T>::send if the channel is closed, before the call or while send waits.
class channel_closed : public std::runtime_error {
public:
    channel_closed() : std::runtime_error("weft: send on closed channel") {}
};

/// Thrown by go, async and runtime::start if address space for stacks, or threads, run out. code()
/// is the operating system's reason. what() says what was requested and what to do. Nothing is
/// lost; the call can be repeated.
class resource_exhausted : public std::system_error {
public:
    resource_exhausted(std::error_code why, const std::string& what) : std::system_error(why, what) {}
};

/// Thrown by a cancellation point if the scope or future around the caller was cancelled. Not
/// derived from std::exception, so catch (const std::exception&) does not stop it.
class cancelled {
public:
    [[nodiscard]] const char* what() const noexcept { return "weft: cancelled"; }
};

/// Thrown by a cancellation point if the deadline of an enclosing with_deadline or with_timeout has
/// passed. Not a std::exception, like cancelled.
class timed_out {
public:
    [[nodiscard]] const char* what() const noexcept { return "weft: deadline passed"; }
};

/// What overloads with a std::error_code& report instead of throwing. Equivalent to
/// std::errc::operation_canceled, timed_out, broken_pipe and bad_file_descriptor.
enum class errc {
    cancelled = 1,
    timed_out,
    channel_closed,
    closed,  ///< this program closed a socket or file, before or during the call
};

[[nodiscard]] const std::error_category& error_category() noexcept;

[[nodiscard]] inline std::error_code make_error_code(errc e) noexcept {
    return {static_cast<int>(e), error_category()};
}

/// Result of an operation with a bounded wait; true if it is ok. Compare it with the constants, or
/// use it in a switch:
///
///     if (!c.try_send(v)) …
///     if (c.send_for(v, 10ms) == weft::chan_status::timed_out) …
class chan_status {
public:
    enum class code : uint8_t {
        ok,           ///< done
        would_block,  ///< try_ form: not possible at once
        timed_out,    ///< _for and _until forms: the time was up first
        closed,       ///< the channel is closed (and, for a receive, drained)
    };

    static const chan_status ok;
    static const chan_status would_block;
    static const chan_status timed_out;
    static const chan_status closed;
    [[deprecated("use timed_out")]] static const chan_status timeout;

    constexpr chan_status(code c) noexcept : code_(c) {}  // NOLINT(google-explicit-constructor): a status is a code

    constexpr explicit operator bool() const noexcept { return code_ == code::ok; }

    constexpr operator code() const noexcept { return code_; }  // NOLINT(google-explicit-constructor): for switch

    friend constexpr bool operator==(chan_status a, chan_status b) noexcept { return a.code_ == b.code_; }

    friend constexpr bool operator==(chan_status a, code b) noexcept { return a.code_ == b; }

private:
    code code_;
};

inline constexpr chan_status chan_status::ok{code::ok};
inline constexpr chan_status chan_status::would_block{code::would_block};
inline constexpr chan_status chan_status::timed_out{code::timed_out};
inline constexpr chan_status chan_status::closed{code::closed};
inline constexpr chan_status chan_status::timeout{code::timed_out};

}  // namespace weft

template <>
struct std::is_error_code_enum<weft::errc> : std::true_type {};
