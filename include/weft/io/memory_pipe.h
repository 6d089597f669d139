// memory_pipe.h: a stream of bytes from one thread to another, without the operating system.
//
//     auto [reader, writer] = weft::io::make_memory_pipe();
//     weft::go([w = std::move(writer)]() mutable { w.write_all(compressed(report)); });
//     weft::io::copy(reader, file);
//
// For code that needs a stream between two threads: a compressor that writes, behind an upload that
// reads; tests of protocols. Like Go's io.Pipe, but with memory in between, so that the writer
// need not wait for each read. To pass values rather than bytes, use a channel.
//
// A read waits until there is a byte, a write until there is room for one. Each call has two forms.
// One throws std::system_error, or weft::cancelled and weft::timed_out. The other fills a
// std::error_code, which success clears.
//
// Any thread. Several threads may read, or write: each call gets or sends its own piece. Any thread
// may call close(). Move, assign and destroy an end only while no other thread uses it; its
// destructor closes it. Reads and writes are cancellation points where they wait.
//
// See: docs/io.md
#pragma once

#include <cstddef>
#include <memory>
#include <system_error>
#include <utility>

#include <weft/detail/require.h>
#include <weft/io/stream_concepts.h>

namespace weft::io {

namespace detail {
class memory_pipe_state;
}

struct memory_pipe_ends;

class memory_pipe_reader {
public:
    /// Closed.
    memory_pipe_reader() noexcept = default;

    memory_pipe_reader(memory_pipe_reader&&) noexcept = default;
    memory_pipe_reader& operator=(memory_pipe_reader&& other) noexcept;

    ~memory_pipe_reader() { close(); }

    /// Waits for the first byte, then reads what is there, at most b.size(). Returns the number of
    /// bytes; 0: the writer has closed its end and everything was read, or b is empty. After fail()
    /// of the writer: its error, instead of 0.
    [[nodiscard]] std::size_t read_some(mutable_buffer b);
    [[nodiscard]] std::size_t read_some(mutable_buffer b, std::error_code& ec);

    /// Drops what was not read. Writes fail with std::errc::broken_pipe from now on, and reads that
    /// wait with weft::errc::closed. May be repeated.
    void close() noexcept;

private:
    friend memory_pipe_ends make_memory_pipe(std::size_t capacity);

    explicit memory_pipe_reader(std::shared_ptr<detail::memory_pipe_state> s) noexcept : state_(std::move(s)) {}

    std::shared_ptr<detail::memory_pipe_state> state_;
};

class memory_pipe_writer {
public:
    /// Closed.
    memory_pipe_writer() noexcept = default;

    memory_pipe_writer(memory_pipe_writer&&) noexcept = default;
    memory_pipe_writer& operator=(memory_pipe_writer&& other) noexcept;

    ~memory_pipe_writer() { close(); }

    /// Waits until there is room for a byte, then writes what fits. Returns the number of bytes; 0:
    /// b is empty.
    [[nodiscard]] std::size_t write_some(const_buffer b);
    [[nodiscard]] std::size_t write_some(const_buffer b, std::error_code& ec);

    /// Writes all of b. Returns b.size(); with an error code, on error: the number of bytes before
    /// it.
    std::size_t write_all(const_buffer b);
    std::size_t write_all(const_buffer b, std::error_code& ec);

    /// The reader gets what was written, and then the end. Writes that wait fail with
    /// weft::errc::closed. May be repeated.
    void close() noexcept;

    /// As close(), but the reader gets this error instead of the end. No effect if the end is
    /// closed.
    void fail(std::error_code why) noexcept;

private:
    friend memory_pipe_ends make_memory_pipe(std::size_t capacity);

    explicit memory_pipe_writer(std::shared_ptr<detail::memory_pipe_state> s) noexcept : state_(std::move(s)) {}

    std::shared_ptr<detail::memory_pipe_state> state_;
};

struct memory_pipe_ends {
    memory_pipe_reader reader;
    memory_pipe_writer writer;
};

/// Makes a pipe that holds up to capacity bytes, at least one. Throws std::bad_alloc.
[[nodiscard]] memory_pipe_ends make_memory_pipe(std::size_t capacity = std::size_t{64} << 10);

}  // namespace weft::io
