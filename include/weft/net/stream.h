// stream.h: a connected stream of bytes: what TCP and Unix stream sockets share.
//
// Calls look blocking, but block only the calling green thread (in a plain thread, that thread).
// Each call is a cancellation point where it waits, and observes the deadline of its direction.
// Each has two forms: one throws std::system_error, the other fills a std::error_code. If a scope
// around the caller is cancelled or its deadline passes, the first form throws weft::cancelled or
// weft::timed_out, like any other wait. The second reports weft::errc::cancelled or
// weft::errc::timed_out.
//
// One green thread may read while another writes. Several may read, or write: each call gets or
// sends its own piece, in no particular order. Two concurrent calls of write_all may interleave, so
// guard them with a mutex. Any thread may close() at any time; waiters then get weft::errc::closed.
// Move, assign and destroy the object only while no other thread uses it.
//
// SIGPIPE is never sent: writing to a peer that no longer reads gives std::errc::broken_pipe.
//
// See: docs/sockets.md
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <system_error>
#include <utility>

#include <weft/detail/fd_handle.h>
#include <weft/detail/require.h>
#include <weft/net/buffer.h>
#include <weft/net/socket.h>

namespace weft::net {

class stream : public socket {
public:
    // ---- Reading.

    /// Reads what is available, 1 to b.size() bytes; waits for the first. Returns the number of
    /// bytes; 0 if the peer will send no more, or b is empty.
    [[nodiscard]] std::size_t read_some(mutable_buffer b);
    [[nodiscard]] std::size_t read_some(mutable_buffer b, std::error_code& ec);

    /// Fills b. Returns b.size(), or less if the stream ends first. On error: the number of bytes
    /// read before it.
    [[nodiscard]] std::size_t read(mutable_buffer b);
    [[nodiscard]] std::size_t read(mutable_buffer b, std::error_code& ec);

    /// As read_some(), into several pieces of memory in order, up to 64 at a time.
    [[nodiscard]] std::size_t readv_some(std::span<const mutable_buffer> into);
    [[nodiscard]] std::size_t readv_some(std::span<const mutable_buffer> into, std::error_code& ec);

    // ---- Writing.

    /// Writes what the system accepts at once, at least a byte; waits until it accepts one. Returns
    /// the number of bytes; 0 if b is empty.
    [[nodiscard]] std::size_t write_some(const_buffer b);
    [[nodiscard]] std::size_t write_some(const_buffer b, std::error_code& ec);

    /// Writes all of b. Returns b.size(); on error, the number of bytes that the system had
    /// accepted.
    std::size_t write_all(const_buffer b);
    std::size_t write_all(const_buffer b, std::error_code& ec);

    /// As write_all(), from several pieces of memory, treated as one.
    std::size_t writev_all(std::span<const const_buffer> from);
    std::size_t writev_all(std::span<const const_buffer> from, std::error_code& ec);

    /// Sends count bytes of an open file, from offset on, copied by the kernel. Returns the number
    /// of bytes, less than count if the file ends first. file: a descriptor of a regular file.
    /// Reading from a slow disk blocks this thread (blocking.h), not the others.
    std::size_t sendfile(int file, int64_t offset, std::size_t count);
    std::size_t sendfile(int file, int64_t offset, std::size_t count, std::error_code& ec);

    // ---- Ending.

    /// Signals the end to the peer; data that it still sends can be read.
    void shutdown_send();
    void shutdown_send(std::error_code& ec);

    /// Reads return the end from now on. Over TCP, data that arrives later can still be read
    /// (Linux).
    void shutdown_receive();
    void shutdown_receive(std::error_code& ec);

protected:
    stream() noexcept = default;

    // may_bring_files: descriptors may arrive with the bytes, and a read stops there.
    stream(weft::detail::fd_handle handle, bool may_bring_files) noexcept
        : socket(std::move(handle)), may_bring_files_(may_bring_files) {}

    stream(stream&&) noexcept = default;
    stream& operator=(stream&&) noexcept = default;
    ~stream() = default;

    bool may_bring_files_ = false;
};

}  // namespace weft::net
