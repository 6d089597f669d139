// socket.h: what all kinds of sockets share: close, deadlines, the descriptor.
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
    /// Wakes all waiters with weft::errc::closed; later calls fail with it. The descriptor is
    /// closed when the last call that uses it has returned and its last weft::watched_fd is gone.
    /// Any thread, any number of times.
    void close() noexcept { handle_.close(); }

    [[nodiscard]] bool is_open() const noexcept { return handle_.is_open(); }

    // ---- Deadlines. They are absolute and apply to all calls from now on, including those that
    // already wait. A call whose deadline has passed fails with weft::errc::timed_out, even if it
    // need not wait. The socket remains usable.

    template <typename Clock, typename Duration>
    void set_deadline(std::chrono::time_point<Clock, Duration> when) {
        set_read_deadline(when);
        set_write_deadline(when);
    }

    /// For reading, receiving and accepting.
    template <typename Clock, typename Duration>
    void set_read_deadline(std::chrono::time_point<Clock, Duration> when) {
        handle_.set_read_deadline(weft::detail::deadline_at(when));
    }

    /// For writing and sending.
    template <typename Clock, typename Duration>
    void set_write_deadline(std::chrono::time_point<Clock, Duration> when) {
        handle_.set_write_deadline(weft::detail::deadline_at(when));
    }

    void clear_deadline() noexcept {
        handle_.set_read_deadline(weft::detail::never);
        handle_.set_write_deadline(weft::detail::never);
    }

    // ---- The descriptor, for other options: valid until close(); -1 if not open. Do not close it
    // or make it blocking.
    [[nodiscard]] int native_handle() const noexcept { return handle_.fd(); }

    /// Gives the caller the descriptor, which stays open and non-blocking. Returns -1 if the socket
    /// has no descriptor. Fatal while another thread uses the socket.
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
