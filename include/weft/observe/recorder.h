// recorder.h: a flight recorder: what the green threads of a runtime did in the last seconds.
//
// Part of the component weft::observe. A recorder keeps the last events of each OS thread: which
// green thread ran where and when, why it waited, and which one ended the wait. A snapshot of it
// says where time went, and opens in Perfetto (ui.perfetto.dev) and other viewers.
//
//     weft::observe::recorder recorder;
//     serve();
//     if (was_slow) recorder.snapshot().write("slow.weftrec");      // then: weft trace slow.weftrec
//
// Saved when something happens: triggers.h. Everything, to a file: stream.h.
//
// See: docs/recording.md
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include <weft/detail/require.h>
#include <weft/runtime.h>

namespace weft::observe {

/// Some of the green threads. Members that are empty match all.
struct green_thread_filter {
    std::string name = {};     ///< its name
    std::string label = {};    ///< "key=value", or "key" with any value; that it had at some time
    std::string started = {};  ///< where it was started: "file.cc:12", or "file.cc" with any line
};

struct recorder_options {
    /// Memory for the events of one OS thread, of 24 bytes each: 6 KiB to 1.5 GiB, rounded up to a
    /// power of two of events. It is used up only as events come. The first recorder of a runtime
    /// decides; later ones share its rings.
    std::size_t bytes_per_thread = std::size_t{6} * 1024 * 1024;

    /// Snapshots, and files of triggers, have only what these do: recording::only(). Streams have
    /// everything.
    green_thread_filter only = {};

    /// One in so many waits, chosen at random, is recorded with the stack of the green thread: 1:
    /// all, 0: none. Needs frame pointers. If recorders of one runtime differ, the least number
    /// counts for all, until the last of them ends.
    uint32_t stack_every = 0;
};

namespace detail {
struct recorded;
struct session;
}  // namespace detail

/// A copy of what was recorded. Copies of it share their memory.
class recording {
public:
    /// Events in it.
    [[nodiscard]] std::size_t events() const noexcept;

    /// Events that were overwritten. The recording begins after the last of them, so it has no
    /// gaps. 0 if it has everything that was asked for.
    [[nodiscard]] uint64_t lost() const noexcept;

    /// The time from the first event to the snapshot.
    [[nodiscard]] std::chrono::nanoseconds span() const noexcept;

    /// The same without the other green threads. Wake-ups by these stay, and what OS threads do.
    [[nodiscard]] recording only(const green_thread_filter& filter) const;

    /// Text: where time went, by the place where green threads were started, and by label; waits;
    /// the longest delays, and what ran meanwhile; regions. About 0.1 us per event.
    [[nodiscard]] std::string summary() const;

    /// Text: what the longest region of this name waited for, and what those did meanwhile that it
    /// waited for. Throws std::invalid_argument if there is no such region.
    [[nodiscard]] std::string critical_path(std::string_view region) const;

    /// Writes it in weft's own form, 4 to 7 bytes per event, for `weft trace` and read(). All
    /// functions that write throw std::system_error if the file cannot be written. Its owner alone
    /// may read it.
    void write(const std::string& path) const;

    /// Reads what write(), triggers or a stream have written, on any machine. If the writer was
    /// killed, what is whole. Throws std::system_error; std::runtime_error if it is no recording.
    [[nodiscard]] static recording read(const std::string& path);

    /// Writes it in the format of Perfetto. About 0.3 us per event, in the calling thread.
    void write_perfetto(const std::string& path) const;

    /// Writes it in the JSON format of Chrome's trace viewer, which several tools read. About three
    /// times as large.
    void write_chrome_json(const std::string& path) const;

    /// Writes one line for each event between two times, which count from the first event. The path
    /// "-" is standard output.
    void write_text(const std::string& path,
                    std::chrono::nanoseconds from = std::chrono::nanoseconds(0),
                    std::chrono::nanoseconds to = (std::chrono::nanoseconds::max)()) const;

private:
    friend class recorder;
    friend struct detail::access;

    explicit recording(std::shared_ptr<const detail::recorded> r) noexcept : recorded_(std::move(r)) {}

    std::shared_ptr<const detail::recorded> recorded_;
};

/// Records a runtime while it exists. Several may exist at once; each sees what has happened since
/// it was made. Without one, green threads pay nothing; with one, some 50 instructions for each
/// wait, wake-up and switch. It may outlive the runtime.
class recorder {
public:
    /// Records the runtime of the calling green thread, or the default runtime, which is started if
    /// it does not run. Throws std::bad_alloc, or what starting the runtime throws.
    explicit recorder(const recorder_options& options = {});

    /// Records this runtime. Throws std::bad_alloc; std::logic_error if the runtime is stopped.
    explicit recorder(const runtime& of, const recorder_options& options = {});

    ~recorder();

    recorder(const recorder&) = delete;
    recorder& operator=(const recorder&) = delete;

    /// Copies what has happened since the recorder was made, or in the last `window`, as far as the
    /// rings reach. Any thread; nothing is stopped. Takes about 60 ns for each event in the rings.
    /// Throws std::bad_alloc.
    [[nodiscard]] recording snapshot(std::chrono::nanoseconds window = (std::chrono::nanoseconds::max)()) const;

private:
    friend struct detail::access;

    std::shared_ptr<detail::session> session_;
};

}  // namespace weft::observe
