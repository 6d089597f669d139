// wait_fd.h: waits until a file descriptor is readable or writable. For libraries with a
// non-blocking interface and their own socket.
//
//     while (PQisBusy(connection)) {
//         weft::wait_fd(PQsocket(connection), weft::fd_events::readable);
//         PQconsumeInput(connection);
//     }
//
// For frequent waits on one descriptor keep a watched_fd: wait_fd adds the descriptor to the poller
// and removes it each time, two system calls. Both ask the system first and wait only if it is not
// ready.
//
//     weft::watched_fd socket(redis->fd);
//     socket.wait(weft::fd_events::writable);
//
// In a select a descriptor is a case like a channel. Readiness is not consumed: it lasts until a
// thread reads or writes.
//
//     weft::select(weft::on_readable(socket, [&] { … }), weft::on_recv(quit, [&](auto) { … }));
//
// Ready means that a read or write would not wait: there is data, room, the end, or an error, which
// that call reports. A regular file is always ready.
//
// The descriptor stays the caller's, blocking or not. It may belong to weft::net; it then stays
// open until the watched_fd is gone. A descriptor that threads wait for by number must not be
// closed, because they would never wake. Descriptors owned by weft may be closed: their waiters get
// weft::errc::closed.
//
// Any thread. A wait is a cancellation point. Errors: std::system_error, with
// std::errc::bad_file_descriptor for an invalid descriptor.
//
// See: docs/sockets.md
#pragma once

#include <chrono>
#include <cstdint>
#include <system_error>
#include <utility>

#include <weft/detail/require.h>
#include <weft/detail/time_point.h>
#include <weft/select.h>

namespace weft {

class watched_fd;

enum class fd_events : uint8_t { none = 0, readable = 1, writable = 2, either = 3 };

[[nodiscard]] constexpr fd_events operator|(fd_events a, fd_events b) noexcept {
    return static_cast<fd_events>(static_cast<uint8_t>(a) | static_cast<uint8_t>(b));
}

[[nodiscard]] constexpr fd_events operator&(fd_events a, fd_events b) noexcept {
    return static_cast<fd_events>(static_cast<uint8_t>(a) & static_cast<uint8_t>(b));
}

namespace detail {

class poll_desc;

// A case for one direction of a descriptor, whose user outlives it.
class fd_select_state {
public:
    fd_select_state(const watched_fd& of, bool writes) noexcept;

    void prepare(select_request& r, select_case& c) noexcept;

    // After the case happened: the error that caused it, if any. check() throws it.
    [[nodiscard]] std::error_code error() const noexcept;
    void check() const;

private:
    static const select_ops ops;
    static bool seems_ready(const select_case& c) noexcept;
    static bool begin(select_case& c, uint32_t bits) noexcept;
    static bool confirm(select_case& c) noexcept;
    bool look() noexcept;

    poll_desc* desc_;
    uint32_t generation_;
    uint32_t seen_ = 0;  // edges, before the last check
    int error_ = 0;      // errno, or -1: closed
    bool writes_;
    bool ready_ = false;
};

}  // namespace detail

/// A descriptor to wait for. The descriptor must outlive this object, which does not close it.
/// Movable. Several threads may use it at once, but not while it is moved.
class watched_fd {
public:
    /// Throws std::system_error if fd is negative or being closed, and std::bad_alloc.
    explicit watched_fd(int fd);

    watched_fd(watched_fd&& other) noexcept
        : desc_(std::exchange(other.desc_, nullptr)),
          generation_(other.generation_),
          process_(other.process_),
          fd_(other.fd_) {}

    watched_fd& operator=(watched_fd&& other) noexcept {
        if (this == &other) return *this;
        const watched_fd old(std::move(*this));
        desc_ = std::exchange(other.desc_, nullptr);
        generation_ = other.generation_;
        process_ = other.process_;
        fd_ = other.fd_;
        return *this;
    }

    watched_fd(const watched_fd&) = delete;
    watched_fd& operator=(const watched_fd&) = delete;
    ~watched_fd();

    /// Waits until one of the events in what is possible. Returns those that are.
    fd_events wait(fd_events what) const { return wait_until_ns(what, detail::never); }

    /// The same with a timeout; returns none on timeout.
    template <typename Rep, typename Period>
    [[nodiscard]] fd_events wait_for(fd_events what, std::chrono::duration<Rep, Period> timeout) const {
        return wait_until_ns(what, detail::deadline_after(timeout));
    }

    template <typename Clock, typename Duration>
    [[nodiscard]] fd_events wait_until(fd_events what, std::chrono::time_point<Clock, Duration> deadline) const {
        return wait_until_ns(what, detail::deadline_at(deadline));
    }

    [[nodiscard]] int fd() const noexcept { return fd_; }

private:
    friend class detail::fd_select_state;

    [[nodiscard]] fd_events wait_until_ns(fd_events what, int64_t deadline_ns) const;

    detail::poll_desc* desc_ = nullptr;
    uint32_t generation_ = 0;
    // The process it was made in: a child of a fork starts with none.
    uint32_t process_ = 0;
    int fd_ = -1;
};

/// As watched_fd(fd).wait(what), and so on.
inline fd_events wait_fd(int fd, fd_events what) { return watched_fd(fd).wait(what); }

template <typename Rep, typename Period>
[[nodiscard]] fd_events wait_fd_for(int fd, fd_events what, std::chrono::duration<Rep, Period> timeout) {
    return watched_fd(fd).wait_for(what, timeout);
}

template <typename Clock, typename Duration>
[[nodiscard]] fd_events wait_fd_until(int fd, fd_events what, std::chrono::time_point<Clock, Duration> deadline) {
    return watched_fd(fd).wait_until(what, deadline);
}

namespace detail {

inline fd_select_state::fd_select_state(const watched_fd& of, bool writes) noexcept
    : desc_(of.desc_), generation_(of.generation_), writes_(writes) {}

// A case of a select.
template <typename F>
class fd_select_case : public plain_select_case<F> {
public:
    using typename plain_select_case<F>::value_type;

    fd_select_case(const watched_fd& w, bool writes, F f) : plain_select_case<F>(std::move(f)), state_(w, writes) {}

    void prepare(select_request& r, select_case& c, std::size_t /*index*/) noexcept { state_.prepare(r, c); }

    value_type result(const select_case& c) {
        state_.check();
        return plain_select_case<F>::result(c);
    }

    void call(const select_case& c) {
        state_.check();
        plain_select_case<F>::call(c);
    }

private:
    fd_select_state state_;
};

}  // namespace detail

/// Happens when w is readable, or writable. w must outlive the select.
template <typename F>
[[nodiscard]] auto on_readable(const watched_fd& w, F f) {
    return detail::fd_select_case<F>(w, false, std::move(f));
}

template <typename F>
[[nodiscard]] auto on_writable(const watched_fd& w, F f) {
    return detail::fd_select_case<F>(w, true, std::move(f));
}

/// The same without functions.
[[nodiscard]] inline auto readable_case(const watched_fd& w) {
    return detail::fd_select_case<detail::no_function>(w, false, {});
}

[[nodiscard]] inline auto writable_case(const watched_fd& w) {
    return detail::fd_select_case<detail::no_function>(w, true, {});
}

[[deprecated("use readable_case")]] [[nodiscard]] inline auto readable(const watched_fd& w) { return readable_case(w); }

[[deprecated("use writable_case")]] [[nodiscard]] inline auto writable(const watched_fd& w) { return writable_case(w); }

}  // namespace weft
