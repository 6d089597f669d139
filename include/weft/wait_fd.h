// wait_fd.h: waiting until a file descriptor can be read or written, for libraries that have a non-blocking interface and a socket of their own.
//
//     while (PQisBusy(connection)) {
//         weft::wait_fd(PQsocket(connection), weft::fd_events::readable);
//         PQconsumeInput(connection);
//     }
//
// Whoever waits often for the same one keeps a watched_fd: wait_fd adds the descriptor to the poller and takes it off again each time, which is two
// system calls. Both ask the system first, and wait only if it is not ready.
//
//     weft::watched_fd socket(redis->fd);
//     socket.wait(weft::fd_events::writable);
//
// In a select a descriptor is a case like a channel. What is ready stays so until somebody reads or writes; nothing is taken.
//
//     weft::select(weft::on_readable(socket, [&] { … }), weft::on_recv(quit, [&](auto) { … }));
//
// Ready means that a read or write would not wait: there is something, or room, or the end, or an error, which that call finds. A regular file is
// always ready. The descriptor stays the caller's, blocking or not; it may be one of weft::net's, which then stays open until the
// watched_fd is gone. It must not be closed while somebody waits
// for it by number, or nobody wakes who waits (what belongs to weft::net may: who waits finds weft::errc::closed).
//
// Any thread. A wait is a cancellation point. Errors: std::system_error, with std::errc::bad_file_descriptor for what is none.
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

// A case about one direction of a descriptor, whose user outlives it.
class fd_select_state {
public:
    fd_select_state(const watched_fd& of, bool writes) noexcept;

    void prepare(select_request& r, select_case& c) noexcept;

    // After the case happened: whether it did because of an error, and which. The other one throws it.
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
    uint32_t seen_ = 0;  // edges, before the last look
    int error_ = 0;      // errno, or -1: closed
    bool writes_;
    bool ready_ = false;
};

}  // namespace detail

// A descriptor that somebody will wait for. The descriptor outlives it, and is not closed by it. Movable; of several threads, who does not move it
// may use it at the same time.
class watched_fd {
public:
    // Throws std::system_error: fd is negative, or just being closed; std::bad_alloc.
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

    // Waits until one of what is possible. Returns which are.
    fd_events wait(fd_events what) const { return wait_until_ns(what, detail::never); }

    // The same, until then at most: none if nothing was possible by then.
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
    uint32_t process_ = 0;  // in which it was made: a child of a fork begins with none
    int fd_ = -1;
};

// As watched_fd(fd).wait(what), and so on.
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

// Happens when w can be read, or written. w outlives the select.
template <typename F>
[[nodiscard]] auto on_readable(const watched_fd& w, F f) {
    return detail::fd_select_case<F>(w, false, std::move(f));
}

template <typename F>
[[nodiscard]] auto on_writable(const watched_fd& w, F f) {
    return detail::fd_select_case<F>(w, true, std::move(f));
}

// The same without functions.
[[nodiscard]] inline auto readable(const watched_fd& w) {
    return detail::fd_select_case<detail::no_function>(w, false, {});
}

[[nodiscard]] inline auto writable(const watched_fd& w) {
    return detail::fd_select_case<detail::no_function>(w, true, {});
}

}  // namespace weft
