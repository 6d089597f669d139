// wait_profile.h: profiles of waits by stack: where green threads wait, and what makes them wait.
//
// Part of the component weft::observe.
//
//     const weft::observe::wait_profiler waits;      // samples while it exists
//     serve();
//     waits.block().write("block.pb");               // go tool pprof -top block.pb
//     waits.mutex().write("mutex.pb");
//
// See: docs/profiling.md#waits
#pragma once

#include <chrono>
#include <memory>

#include <weft/observe/profile.h>
#include <weft/runtime.h>

namespace weft::observe {

struct wait_profile_options {
    /// One sample for each that much waiting, on average: a wait of that time or longer is always
    /// one. 1 ns: all waits. Zero: no profile of all waits. As in Go's SetBlockProfileRate.
    std::chrono::nanoseconds block_rate{10'000};

    /// One of that many waits for mutexes, on average, is a sample. 1: all. 0: no profile of
    /// mutexes. As in Go's SetMutexProfileFraction.
    unsigned mutex_fraction = 10;
};

/// Samples the waits of one runtime's green threads while it exists. A wait counts when it ends; it
/// has ended when the green thread becomes runnable. Waits that began before are not counted. One
/// at a time in a process.
class wait_profiler {
public:
    /// Of the runtime of the calling green thread, or of the default runtime. Any thread. Throws
    /// std::invalid_argument if both kinds are left out or block_rate is negative;
    /// std::system_error with std::errc::device_or_resource_busy if another one exists;
    /// std::bad_alloc: it takes 2.2 MiB.
    explicit wait_profiler(const wait_profile_options& options = {});

    /// Of this runtime. Throws std::logic_error if it is stopped, and as above.
    explicit wait_profiler(const runtime& of, const wait_profile_options& options = {});

    ~wait_profiler();

    wait_profiler(const wait_profiler&) = delete;
    wait_profiler& operator=(const wait_profiler&) = delete;

    /// How often, and how long, green threads waited since the beginning: by the stack of the one
    /// that waited. Labels: wait_reason. Values are scaled up from the samples, so their sums are
    /// right on average. Any thread. A green thread keeps its OS thread busy and gives up its
    /// processor meanwhile (weft::blocking), because names are looked up, which takes from some ms
    /// to 5 s. Throws std::bad_alloc.
    [[nodiscard]] profile block() const;

    /// How often, and how long, green threads waited for mutexes and shared mutexes: by the stack
    /// that ended the wait, which is that of the unlock. The rest is as above.
    [[nodiscard]] profile mutex() const;

private:
    struct state;

    std::unique_ptr<state> state_;
};

}  // namespace weft::observe
