// profile.h: profiles of a running program, which pprof and other tools open.
//
// Part of the component weft::observe. A profile is a set of stacks with values and labels, in the
// protobuf format of pprof.
//
//     weft::observe::cpu_profile(10s).write("cpu.pb");            // go tool pprof -top cpu.pb
//     weft::observe::goroutine_profile().write("green.pb");
//
// See: docs/profiling.md
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <string_view>

#include <weft/observe/recorder.h>
#include <weft/runtime.h>

namespace weft::observe {

/// A profile. Copies of it share their memory. Any thread.
class profile {
public:
    /// The protobuf message, not compressed. It belongs to the profile. For a server that offers
    /// profiles.
    [[nodiscard]] std::string_view bytes() const noexcept { return *bytes_; }

    /// Writes it to a file that only its owner may read. Blocks the calling thread. Throws
    /// std::system_error, which names the file.
    void write(const std::string& path) const;

private:
    friend struct profile_maker;

    explicit profile(std::string bytes) : bytes_(std::make_shared<const std::string>(std::move(bytes))) {}

    std::shared_ptr<const std::string> bytes_;
};

struct cpu_profile_options {
    /// Samples for each second of CPU time of a thread: 1 to 1000. More than the frequency of the
    /// system's timer (100 to 1000) are counted, but taken together.
    unsigned hz = 100;

    /// Whether samples have the label green_thread: its id. Samples of different green threads then
    /// are not added up, so each one that is seen takes memory: 0.5 to 2 KB.
    bool label_green_threads = false;
};

/// Takes samples of all threads of the process while it exists: the stack, and which green thread
/// runs there. A thread that computes for 1/hz gives one sample. Threads that start later take part
/// after 50 ms at most.
///
/// A thread is interrupted by SIGURG, so a system call of the program may end with EINTR, if its
/// thread computes meanwhile. Threads that block SIGURG give no samples; those of weft that run
/// green threads never do.
/// Not available with ThreadSanitizer, which delays signals.
class cpu_profiler {
public:
    /// Begins. Any thread. Throws std::invalid_argument if hz is out of range; std::bad_alloc: it
    /// takes 2 MiB. Throws std::system_error if the system refuses timers or a thread; with
    /// std::errc::device_or_resource_busy if another one exists; with std::errc::not_supported
    /// under ThreadSanitizer, or if the program has replaced weft's handler for SIGURG by SIG_DFL
    /// or SIG_IGN.
    explicit cpu_profiler(const cpu_profile_options& options = {});

    /// Ends, without a profile if stop() was not called.
    ~cpu_profiler();

    cpu_profiler(const cpu_profiler&) = delete;
    cpu_profiler& operator=(const cpu_profiler&) = delete;

    /// Ends, and returns what was seen. Any thread, once. A green thread keeps its OS thread busy
    /// and gives up its processor meanwhile (weft::blocking): names are looked up, which takes from
    /// some ms to 5 s for a large program. Throws std::bad_alloc; std::logic_error if it was
    /// called before.
    [[nodiscard]] profile stop();

private:
    struct state;

    std::unique_ptr<state> state_;
};

/// Profiles all threads of the process for this time. Any thread; the caller sleeps meanwhile. A
/// cancellation point. Throws as cpu_profiler.
[[nodiscard]] profile cpu_profile(std::chrono::nanoseconds duration, const cpu_profile_options& options = {});

/// The stacks of all green threads of the runtime of the calling green thread, or of the default
/// runtime: equal ones are counted. Labels: state, wait_reason, name, started_at, and those of the
/// green thread. Any thread; nothing is stopped, but each green thread is frozen for some us.
/// Afterwards names are looked up as in cpu_profiler::stop(). Takes some us for each green thread.
/// Throws std::logic_error if there is no runtime; std::bad_alloc.
[[nodiscard]] profile goroutine_profile();

/// The same of this runtime. Throws std::logic_error if it is stopped.
[[nodiscard]] profile goroutine_profile(const runtime& of);

/// From a recording: how often, and how long, green threads were runnable before they ran, by the
/// place where they were started. Labels: name. Any thread; takes some 100 ns for each event.
/// Throws std::bad_alloc.
[[nodiscard]] profile scheduling_profile(const recording& r);

/// From a recording: how often, and how long, green threads waited, by the reason and the place
/// where they were started. Waits that had not ended are not counted, as in Go. Labels, cost and
/// errors as above.
[[nodiscard]] profile blocking_profile(const recording& r);

}  // namespace weft::observe
