// triggers.h: saves a recording when something happens: with what led to it, and what followed.
//
//     weft::observe::recorder recorder;
//     weft::observe::triggers slow(recorder, {.folder = "/var/tmp", .signal = SIGUSR1});
//     …
//     if (took > 50ms) slow.trigger("slow request");   // a file app-4711-1-slow_request.weftrec
//
// See: docs/recording.md
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include <weft/observe/recorder.h>

namespace weft::observe {

struct trigger_options {
    /// Where files are made. It must exist.
    std::string folder = ".";
    /// What a file has, if the rings reach back as far: before and after the trigger.
    std::chrono::nanoseconds before = std::chrono::seconds(5);
    std::chrono::nanoseconds after = std::chrono::milliseconds(200);
    /// The least time from one file to the next. Triggers before that are only counted. The end of
    /// the process is always saved.
    std::chrono::nanoseconds at_most_every = std::chrono::minutes(1);
    /// When there are more, the oldest one is removed. 0: all are kept.
    unsigned files = 10;

    /// Besides trigger(), these save one:
    /// This signal, such as SIGUSR1; 0: none. Its default action no longer happens, for the rest of
    /// the process.
    int signal = 0;
    bool by_watchdog = true;  ///< a report of the watchdog (runtime_options::watchdog)
    /// A deadlock, a fatal error of the runtime, std::terminate; SIGSEGV or SIGBUS, unless the
    /// program or a sanitizer handles them.
    bool at_end = true;
    std::function<bool()> when;  ///< it returns true; it is called every `period`, and must not throw
    std::chrono::nanoseconds period = std::chrono::milliseconds(100);

    /// Called with the path of each file that was written, and the reason. Must not throw. With
    /// this or `when`, deadlocks are not found: the function might wake a green thread.
    std::function<void(const std::string& path, std::string_view why)> saved;
};

/// Saves recordings of a recorder's runtime while it exists. Has a thread of its own, so it works
/// while all processors compute. Several may exist; each has its own limit.
class triggers {
public:
    /// Throws std::invalid_argument if an option makes no sense; std::system_error if the folder
    /// cannot be written, or the signal is in use; std::bad_alloc.
    triggers(const recorder& from, trigger_options options);

    /// Saves what was triggered before.
    ~triggers();

    triggers(const triggers&) = delete;
    triggers& operator=(const triggers&) = delete;

    /// Saves a recording soon, for this reason, unless one was saved a moment ago. Never waits. Any
    /// thread. Of the reason, the first 100 bytes are kept.
    void trigger(std::string_view why) noexcept;

    [[nodiscard]] uint64_t saved() const noexcept;

    /// Triggers that were only counted, because of the limit.
    [[nodiscard]] uint64_t left_out() const noexcept;

    /// Files that could not be written. A line on stderr says why, once.
    [[nodiscard]] uint64_t failed() const noexcept;

private:
    struct state;

    std::unique_ptr<state> state_;
};

}  // namespace weft::observe
