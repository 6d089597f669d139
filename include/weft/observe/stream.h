// stream.h: writes all events of a recorder to a file, while the program runs.
//
//     weft::observe::recorder recorder;
//     weft::observe::stream everything(recorder, "all.weftrec");
//
// See: docs/recording.md
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include <weft/observe/recorder.h>

namespace weft::observe {

struct stream_options {
    /// The stream ends when the file has that many bytes. To read it takes 12 times as much memory.
    uint64_t most_bytes = uint64_t{1} << 28;
};

/// Writes what happens from now on to a file, which recording::read and `weft trace` read. A thread
/// of its own copies the rings every 5 ms, or more often if they are smaller than usual. It keeps
/// up with some 10 million events a second; of more, or if it gets too little CPU time, some are
/// lost. If the program is killed, the file has everything but the last moment.
class stream {
public:
    /// The runtime is recorded until the stream ends, also if the recorder ends before. Throws
    /// std::system_error if the file cannot be written; std::bad_alloc.
    stream(const recorder& from, const std::string& path, const stream_options& options = {});

    /// As close(), without the exception.
    ~stream();

    stream(const stream&) = delete;
    stream& operator=(const stream&) = delete;

    /// Writes the rest, and ends the stream. Throws std::system_error if any of it could not be
    /// written; the file then ends there. Again, or in the child of a fork: no effect.
    void close();

    /// Bytes written so far. Any thread.
    [[nodiscard]] uint64_t bytes() const noexcept;

    /// Events that were overwritten before they were copied. The file has a gap in their place. Any
    /// thread.
    [[nodiscard]] uint64_t lost() const noexcept;

private:
    struct state;

    std::unique_ptr<state> state_;
};

}  // namespace weft::observe
