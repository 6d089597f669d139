// stream.h: a connected stream of bytes: what TCP and Unix stream sockets have in common.
//
// Calls look as if they blocked, and block only the green thread that makes them (in a plain thread, that). Each is a cancellation point
// where it waits, heeds the deadline set for its direction, and comes in two forms: one throws std::system_error, the other fills a std::error_code.
// Where a scope around the caller is cancelled, or its deadline passes, the first form throws weft::cancelled or weft::timed_out, as every
// other wait does; the second reports weft::errc::cancelled or weft::errc::timed_out.
//
// One green thread may read while another one writes. Several may read, or write: each call gets or sends a piece of its own, in no
// order; write_all of two callers may be interleaved, so give them a mutex. Any thread may close() at any time: whoever waits is woken with
// weft::errc::closed. Moving, assigning and destroying are for one thread, while nobody else uses the object.
//
// SIGPIPE is never sent: writing to who does not read any more is the error std::errc::broken_pipe.
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

    // Reads what is there, at least a byte, at most b.size(): waits for the first. Returns how many bytes; 0: the other side will send no
    // more, or b is empty.
    [[nodiscard]] std::size_t read_some(mutable_buffer b);
    [[nodiscard]] std::size_t read_some(mutable_buffer b, std::error_code& ec);

    // Fills b. Returns b.size(), or less if the other side has sent no more than that. With an error: how many bytes had been read before.
    [[nodiscard]] std::size_t read(mutable_buffer b);
    [[nodiscard]] std::size_t read(mutable_buffer b, std::error_code& ec);

    // As read_some(), into several pieces of memory, one after the other; up to 64 of them at a time.
    [[nodiscard]] std::size_t readv_some(std::span<const mutable_buffer> into);
    [[nodiscard]] std::size_t readv_some(std::span<const mutable_buffer> into, std::error_code& ec);

    // ---- Writing.

    // Writes what the system takes at once, at least a byte: waits until it takes one. Returns how many; 0: b is empty.
    [[nodiscard]] std::size_t write_some(const_buffer b);
    [[nodiscard]] std::size_t write_some(const_buffer b, std::error_code& ec);

    // Writes all of b. Returns b.size(); with an error, how many bytes the system had taken before.
    std::size_t write_all(const_buffer b);
    std::size_t write_all(const_buffer b, std::error_code& ec);

    // As write_all(), from several pieces of memory, as if they were one.
    std::size_t writev_all(std::span<const const_buffer> from);
    std::size_t writev_all(std::span<const const_buffer> from, std::error_code& ec);

    // Sends count bytes of an open file from offset on, which the system copies by itself. Returns how many: less than count if the file
    // ends before. file: a descriptor of a regular file; reading from a slow disk blocks the thread (blocking.h), not the others.
    std::size_t sendfile(int file, int64_t offset, std::size_t count);
    std::size_t sendfile(int file, int64_t offset, std::size_t count, std::error_code& ec);

    // ---- Ending.

    // The other side reads the end; what it still sends can be read.
    void shutdown_send();
    void shutdown_send(std::error_code& ec);

    // Reads find the end from now on; over TCP, what arrives later may be read all the same (Linux).
    void shutdown_receive();
    void shutdown_receive(std::error_code& ec);

protected:
    stream() noexcept = default;

    // may_bring_files: descriptors may come with the bytes, and a read stops where they do.
    stream(weft::detail::fd_handle handle, bool may_bring_files) noexcept
        : socket(std::move(handle)), may_bring_files_(may_bring_files) {}

    stream(stream&&) noexcept = default;
    stream& operator=(stream&&) noexcept = default;
    ~stream() = default;

    bool may_bring_files_ = false;
};

}  // namespace weft::net
