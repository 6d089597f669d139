// recorder.h: a flight recorder: what the green threads of a runtime did in the last seconds.
//
// Part of the component weft::observe. A recorder keeps the last events of each OS thread: which
// green thread ran where and when, why it waited, and which one ended the wait. A snapshot of it
// opens in Perfetto (ui.perfetto.dev) and other viewers.
//
//     weft::observe::recorder recorder;
//     serve();
//     if (was_slow) recorder.snapshot().write_perfetto("slow.pftrace");
//
// See: docs/recording.md
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include <weft/detail/require.h>
#include <weft/runtime.h>

namespace weft::observe {

struct recorder_options {
    /// Memory for the events of one OS thread, of 24 bytes each: 6 KiB to 1.5 GiB, rounded up to a
    /// power of two of events. It is used up only as events come. The first recorder of a runtime
    /// decides; later ones share its rings.
    std::size_t bytes_per_thread = std::size_t{6} * 1024 * 1024;
};

namespace detail {
struct recorded;
}

/// A copy of what was recorded. Copies of it share their memory.
class recording {
public:
    /// Events in it.
    [[nodiscard]] std::size_t events() const noexcept;

    /// Events that were overwritten before they were copied. 0 if the rings have all of its span.
    [[nodiscard]] uint64_t lost() const noexcept;

    /// The time from the first event to the snapshot.
    [[nodiscard]] std::chrono::nanoseconds span() const noexcept;

    /// Writes it in the format of Perfetto. About 1 us per event, in the calling thread. Throws
    /// std::system_error if the file cannot be written.
    void write_perfetto(const std::string& path) const;

    /// Writes it in the JSON format of Chrome's trace viewer, which several tools read. About three
    /// times as large.
    void write_chrome_json(const std::string& path) const;

    /// Writes one line for each event.
    void write_text(const std::string& path) const;

private:
    friend class recorder;

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
    /// rings reach. Any thread; nothing is stopped. Takes some milliseconds for each OS thread.
    /// Throws std::bad_alloc.
    [[nodiscard]] recording snapshot(std::chrono::nanoseconds window = (std::chrono::nanoseconds::max)()) const;

private:
    struct state;

    std::unique_ptr<state> state_;
};

}  // namespace weft::observe
