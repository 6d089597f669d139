// socket.h: what sockets of all kinds have in common: how they end, deadlines, the descriptor.
//
// See: docs/sockets.md
#pragma once

#include <chrono>
#include <utility>

#include <weft/detail/fd_handle.h>
#include <weft/detail/require.h>
#include <weft/detail/time_point.h>

namespace weft::net {

class socket {
public:
    // Whoever waits is woken with weft::errc::closed; calls that come later fail with it. The socket is closed when the last call that uses
    // it has returned, and the last weft::watched_fd of it is gone. Any thread, any number of times.
    void close() noexcept { handle_.close(); }

    [[nodiscard]] bool is_open() const noexcept { return handle_.is_open(); }

    // ---- Deadlines. They hold for all calls from now on, also for those that wait now, and are absolute. A call whose deadline has passed
    // fails with weft::errc::timed_out, also if it need not wait, and the socket can go on being used.

    template <typename Clock, typename Duration>
    void set_deadline(std::chrono::time_point<Clock, Duration> when) {
        set_read_deadline(when);
        set_write_deadline(when);
    }

    // Reading, receiving, accepting.
    template <typename Clock, typename Duration>
    void set_read_deadline(std::chrono::time_point<Clock, Duration> when) {
        handle_.set_read_deadline(weft::detail::deadline_at(when));
    }

    // Writing, sending.
    template <typename Clock, typename Duration>
    void set_write_deadline(std::chrono::time_point<Clock, Duration> when) {
        handle_.set_write_deadline(weft::detail::deadline_at(when));
    }

    void clear_deadline() noexcept {
        handle_.set_read_deadline(weft::detail::never);
        handle_.set_write_deadline(weft::detail::never);
    }

    // ---- The descriptor, for options that are not here: valid until close(). Do not close it, or make it blocking. -1: there is none.
    [[nodiscard]] int native_handle() const noexcept { return handle_.fd(); }

    // Gives the descriptor, which stays open and non-blocking, to the caller. A fatal error while somebody uses the socket. -1: there
    // is none.
    [[nodiscard]] int release() { return handle_.detach(); }

protected:
    socket() noexcept = default;

    explicit socket(weft::detail::fd_handle handle) noexcept : handle_(std::move(handle)) {}

    socket(socket&&) noexcept = default;
    socket& operator=(socket&&) noexcept = default;
    ~socket() = default;

    weft::detail::fd_handle handle_;
};

}  // namespace weft::net
