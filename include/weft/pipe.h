// pipe.h: the two ends of a pipe: a stream of bytes in one direction, to or from another program.
//
// Works like a network stream (net/stream.h): calls block only the calling green thread. Each is a
// cancellation point where it waits, obeys the deadline that was set, and has two forms. One stores
// a std::error_code. The other throws std::system_error, or weft::cancelled and weft::timed_out if
// a scope or deadline around the caller ends the wait. Any thread may call close() at any time;
// waiters wake with weft::errc::closed. Moving, assigning and destroying require that no other
// thread uses the object.
//
// SIGPIPE is never raised: writing without a reader is the error std::errc::broken_pipe.
//
// See: docs/processes.md
#pragma once

#include <chrono>
#include <cstddef>
#include <system_error>
#include <utility>

#include <weft/detail/fd_handle.h>
#include <weft/detail/require.h>
#include <weft/detail/time_point.h>
#include <weft/net/buffer.h>

namespace weft {

namespace detail {

// Common to both ends.
class pipe_end {
public:
    void close() noexcept { handle_.close(); }

    [[nodiscard]] bool is_open() const noexcept { return handle_.is_open(); }

    // The non-blocking descriptor: valid until close().
    [[nodiscard]] int native_handle() const noexcept { return handle_.fd(); }

    // Transfers the descriptor, which stays open and non-blocking, to the caller; -1 without one.
    // Fatal while a thread uses it.
    [[nodiscard]] int release() { return handle_.detach(); }

protected:
    pipe_end() noexcept = default;

    explicit pipe_end(fd_handle handle) noexcept : handle_(std::move(handle)) {}

    pipe_end(pipe_end&&) noexcept = default;
    pipe_end& operator=(pipe_end&&) noexcept = default;
    ~pipe_end() = default;

    // Makes fd non-blocking. Throws std::system_error with what, or std::bad_alloc; fd is then
    // closed.
    [[nodiscard]] static fd_handle taken_over(int fd, const char* what);

    fd_handle handle_;
};

}  // namespace detail

class pipe_reader : public detail::pipe_end {
public:
    /// Closed.
    pipe_reader() noexcept = default;

    /// Takes ownership of the end of a pipe, or of a similar descriptor: a terminal, one end of a
    /// socketpair. Throws std::system_error or std::bad_alloc; fd is then closed. Descriptors that
    /// share the open file (dup, fork) become non-blocking too.
    [[nodiscard]] static pipe_reader adopt(int fd) { return pipe_reader(taken_over(fd, "weft: pipe_reader::adopt")); }

    /// Waits for the first byte, then reads what is available, at most b.size(). Returns the number
    /// of bytes; 0: the end, or b is empty.
    [[nodiscard]] std::size_t read_some(net::mutable_buffer b);
    [[nodiscard]] std::size_t read_some(net::mutable_buffer b, std::error_code& ec);

    /// Fills b. Returns b.size(), or less at the end. On error: the number of bytes read before it.
    [[nodiscard]] std::size_t read(net::mutable_buffer b);
    [[nodiscard]] std::size_t read(net::mutable_buffer b, std::error_code& ec);

    /// Applies to later calls and to those that wait now.
    template <typename Clock, typename Duration>
    void set_deadline(std::chrono::time_point<Clock, Duration> when) {
        handle_.set_read_deadline(detail::deadline_at(when));
    }

    void clear_deadline() noexcept { handle_.set_read_deadline(detail::never); }

private:
    explicit pipe_reader(detail::fd_handle handle) noexcept : pipe_end(std::move(handle)) {}
};

class pipe_writer : public detail::pipe_end {
public:
    /// Closed.
    pipe_writer() noexcept = default;

    /// As pipe_reader::adopt.
    [[nodiscard]] static pipe_writer adopt(int fd) { return pipe_writer(taken_over(fd, "weft: pipe_writer::adopt")); }

    /// Waits until at least one byte fits, then writes what fits. Returns the number of bytes; 0: b
    /// is empty.
    [[nodiscard]] std::size_t write_some(net::const_buffer b);
    [[nodiscard]] std::size_t write_some(net::const_buffer b, std::error_code& ec);

    /// Writes all of b. Returns b.size(); on error, the number of bytes written before it.
    std::size_t write_all(net::const_buffer b);
    std::size_t write_all(net::const_buffer b, std::error_code& ec);

    template <typename Clock, typename Duration>
    void set_deadline(std::chrono::time_point<Clock, Duration> when) {
        handle_.set_write_deadline(detail::deadline_at(when));
    }

    void clear_deadline() noexcept { handle_.set_write_deadline(detail::never); }

private:
    explicit pipe_writer(detail::fd_handle handle) noexcept : pipe_end(std::move(handle)) {}
};

struct pipe_ends {
    pipe_reader reader;
    pipe_writer writer;
};

/// Makes a pipe. Throws std::system_error (too many descriptors) or std::bad_alloc. Executed
/// programs do not inherit the ends.
[[nodiscard]] pipe_ends make_pipe();

}  // namespace weft
