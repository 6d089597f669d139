// pipe.h: the two ends of a pipe: a stream of bytes in one direction, to or from another program.
//
// As a stream of the network (net/stream.h): calls look as if they blocked, and block only the green thread that makes them; each is a
// cancellation point where it waits, heeds the deadline that was set, and comes in two forms, one of which throws std::system_error, or
// weft::cancelled and weft::timed_out where a scope or deadline around the caller ends the wait. close() may be called by any thread at any
// time: whoever waits is woken with weft::errc::closed. Moving, assigning and destroying are for one thread, while nobody else uses the object.
//
// SIGPIPE never comes: writing to where nobody reads any more is the error std::errc::broken_pipe.
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

// What both ends have.
class pipe_end {
public:
    void close() noexcept { handle_.close(); }

    [[nodiscard]] bool is_open() const noexcept { return handle_.is_open(); }

    // The descriptor, which is non-blocking: valid until close().
    [[nodiscard]] int native_handle() const noexcept { return handle_.fd(); }

    // Gives the descriptor, which stays open and non-blocking, to the caller; -1: there is none. A fatal error while somebody uses it.
    [[nodiscard]] int release() { return handle_.detach(); }

protected:
    pipe_end() noexcept = default;

    explicit pipe_end(fd_handle handle) noexcept : handle_(std::move(handle)) {}

    pipe_end(pipe_end&&) noexcept = default;
    pipe_end& operator=(pipe_end&&) noexcept = default;
    ~pipe_end() = default;

    // Makes fd non-blocking. Throws std::system_error, with what, or std::bad_alloc; then fd is closed.
    [[nodiscard]] static fd_handle taken_over(int fd, const char* what);

    fd_handle handle_;
};

}  // namespace detail

class pipe_reader : public detail::pipe_end {
public:
    // Closed.
    pipe_reader() noexcept = default;

    // Takes over the end of a pipe, or something like it: a terminal, one end of a socketpair. Throws std::system_error, or std::bad_alloc,
    // and has closed it then. Who shares the open file (after dup, fork) finds it non-blocking, too.
    [[nodiscard]] static pipe_reader adopt(int fd) { return pipe_reader(taken_over(fd, "weft: pipe_reader::adopt")); }

    // Reads what is there, at least a byte, at most b.size(): waits for the first. Returns how many; 0: the end, or b is empty.
    [[nodiscard]] std::size_t read_some(net::mutable_buffer b);
    [[nodiscard]] std::size_t read_some(net::mutable_buffer b, std::error_code& ec);

    // Fills b. Returns b.size(), or less at the end. With an error: how many bytes had been read before.
    [[nodiscard]] std::size_t read(net::mutable_buffer b);
    [[nodiscard]] std::size_t read(net::mutable_buffer b, std::error_code& ec);

    // For calls to come, and those that wait now.
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
    // Closed.
    pipe_writer() noexcept = default;

    // As pipe_reader::adopt.
    [[nodiscard]] static pipe_writer adopt(int fd) { return pipe_writer(taken_over(fd, "weft: pipe_writer::adopt")); }

    // Writes what fits at once, at least a byte: waits until one does. Returns how many; 0: b is empty.
    [[nodiscard]] std::size_t write_some(net::const_buffer b);
    [[nodiscard]] std::size_t write_some(net::const_buffer b, std::error_code& ec);

    // Writes all of b. Returns b.size(); with an error, how many bytes had been written before.
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

// A new pipe. Throws std::system_error (too many descriptors), std::bad_alloc. Neither end is inherited by programs that are executed.
[[nodiscard]] pipe_ends make_pipe();

}  // namespace weft
