// runtime.h: the scheduler as an object, with its own Ps, threads and green threads.
//
// Most programs need only weft::main, which makes the body of main() the first green thread of the
// default runtime, and the process's main thread its first M. A runtime object is for libraries and
// tests: it runs on its own threads, several may exist at once, and each may be stopped and
// restarted.
//
// See: docs/runtime.md
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>

#include <weft/debug.h>
#include <weft/detail/atomic.h>
#include <weft/detail/cancel.h>
#include <weft/detail/require.h>
#include <weft/detail/source_location.h>
#include <weft/detail/spin_lock.h>
#include <weft/detail/time_point.h>
#include <weft/future.h>
#include <weft/go.h>
#include <weft/stack_policy.h>

namespace weft {

namespace observe::detail {
struct access;
}

/// What to do if a stack cannot get a guard region (old kernel, or no mappings left).
enum class guard_policy {
    when_possible,  ///< paint a canary, check it at every switch, report it once on stderr
    always,         ///< refuse: starting the G throws resource_exhausted
};

struct runtime_options {
    /// Number of Ps: green threads scheduled at once. 0: RUN_MAXPROCS, else what affinity and
    /// cgroup allow.
    unsigned procs = 0;
    /// Usable bytes of a default stack. 0: RUN_STACK_MAX, else 256 KiB, 64 KiB if fixed.
    std::size_t stack_size = 0;
    guard_policy guard = guard_policy::when_possible;
    /// Retake Ps from threads that block or compute while other Gs wait. See docs/retake.md.
    bool retake = true;
    std::string name = "weft";  ///< prefix of the names of its threads
    /// Where stack memory comes from. automatic: RUN_STACK_POLICY, else paged.
    stack_policy stacks = stack_policy::automatic;

    static constexpr int no_signal = -1;
    /// Interrupts code marked as preemptible. 0: RUN_PREEMPT_SIGNAL, else SIGURG. no_signal: none.
    int preempt_signal = 0;

    /// How long a G may run while others wait, 10 us to 10 s. 0: RUN_SLICE, else 10 ms.
    std::chrono::nanoseconds slice{0};

    /// Report a G that runs, or waits for a P, for longer. 0: RUN_DEBUG=watchdog=, else never.
    std::chrono::milliseconds watchdog{0};

    static constexpr std::chrono::nanoseconds keep_memory{-1};
    /// Memory of ended green threads unused for this long goes back to the system, 1 ms to 1 h. 0:
    /// RUN_MEMORY_IDLE, else 2 s. keep_memory: never. See docs/stacks.md.
    std::chrono::nanoseconds memory_idle{0};

    /// How much later sleeps and timers may end while no thread of the runtime works, at most 1 s.
    /// Those due within this time then share one wake-up. 0: RUN_TIMER_SLACK, else as exact as the
    /// system is. See docs/timers.md
    std::chrono::nanoseconds timer_slack{0};
};

/// Result of runtime::shutdown().
struct stop_outcome {
    std::size_t drained = 0;    ///< Gs that finished during the stop
    std::size_t cancelled = 0;  ///< interrupted waits, without those that would have begun later
    std::size_t abandoned = 0;  ///< unfinished Gs; only those of stragglers may still finish
    /// OS threads whose G has not come back: left behind, with the memory of the runtime.
    std::size_t stragglers = 0;
};

namespace detail {

// Keeps a scheduler alive: the caller is one of its green threads, or has pinned it.
class runtime_use {
public:
    runtime_use(scheduler* s, bool is_pinned) noexcept : s_(s), pinned_(is_pinned ? s : nullptr) {}

    ~runtime_use() {
        if (pinned_ != nullptr) unpin(*pinned_);
    }

    runtime_use(runtime_use&& other) noexcept : s_(other.s_), pinned_(std::exchange(other.pinned_, nullptr)) {}

    runtime_use(const runtime_use&) = delete;
    runtime_use& operator=(const runtime_use&) = delete;

    scheduler* operator->() const noexcept { return s_; }

    operator scheduler*() const noexcept { return s_; }  // NOLINT(google-explicit-constructor): used in its place

private:
    static void unpin(scheduler& s) noexcept;

    scheduler* s_;
    scheduler* pinned_;
};

}  // namespace detail

/// A scheduler with its own Ps and threads. Not copyable or movable: green threads refer to it.
class runtime {
public:
    /// Starts it. Throws resource_exhausted if there are no stacks or no first thread.
    explicit runtime(runtime_options options = {});

    /// Calls abandon(). But if one of its own green threads has called exit(), which destroys
    /// static objects, the runtime is left as it is.
    ~runtime();

    runtime(const runtime&) = delete;
    runtime& operator=(const runtime&) = delete;

    /// Restarts it after abandon() or shutdown(). Does nothing if it runs. Throws as the
    /// constructor.
    void start();

    /// Stops it gracefully, within timeout or until deadline. Every wait of its Gs that is a
    /// cancellation point (cancel.h) ends with weft::cancelled, as if a scope around them all were
    /// cancelled. Then waits for all Gs to finish, until the deadline at most, and proceeds as
    /// abandon(). shield() protects a wait; Gs that compute can call throw_if_cancelled(). A G
    /// started with go() may end by that exception. Gs that any thread starts during this are
    /// cancelled and waited for too.
    ///
    /// Gs that still compute, or are in a system call, 100 ms after the deadline are stragglers.
    /// They are named on stderr and left behind, with their OS threads and the memory of the
    /// runtime. If one comes back, its thread ends. Threads that run no G get another 5 s. The
    /// object may then be destroyed or restarted. Fatal in a G of this runtime. Not a cancellation
    /// point.
    template <typename Clock, typename Duration>
    stop_outcome shutdown(std::chrono::time_point<Clock, Duration> deadline) {
        return shutdown_by(detail::deadline_at(deadline));
    }

    template <typename Rep, typename Period>
    stop_outcome shutdown(std::chrono::duration<Rep, Period> timeout) {
        return shutdown_by(detail::deadline_after(timeout));
    }

    /// Stops it at once: no G is scheduled afterwards. Running Gs first reach their next scheduling
    /// point; one that never does blocks abandon(). Unfinished Gs are abandoned without unwinding,
    /// as in Go when main returns, and leave the queues of objects that outlive them. Returns their
    /// number. Fatal in a G of this runtime.
    std::size_t abandon();

    [[deprecated("use abandon(), or shutdown(deadline), which unwinds")]] std::size_t stop() { return abandon(); }

    template <typename When>
    [[deprecated("use shutdown")]] stop_outcome stop(When when) {
        return shutdown(when);
    }

    /// Whether it is started. False in the child of a fork, which may start it again.
    [[nodiscard]] bool running() const noexcept;

    /// Waits until every G has finished, including those started during the wait. Fatal in a G of
    /// this runtime. Not a cancellation point.
    void drain();

    /// The number of Ps; 0 after the runtime has stopped.
    [[nodiscard]] unsigned procs() const noexcept;

    /// Changes the number of Ps while green threads run; see weft::set_max_procs. Any thread.
    unsigned set_max_procs(unsigned n);

    [[nodiscard]] stats_snapshot stats() const noexcept;

    /// As weft::stack_use, for this runtime.
    std::size_t stack_use(std::span<stack_use_at> into) const noexcept;
    /// As weft::scheduling_latency and weft::stats_of_procs, for this runtime.
    [[nodiscard]] latency_histogram scheduling_latency() const noexcept;
    std::size_t stats_of_procs(proc_snapshot* all, std::size_t count) const noexcept;

    /// As weft::dump, for this runtime.
    void dump(int fd) const noexcept;
    void dump(int fd, const dump_options& options) const noexcept;

    /// Whether its green threads are deadlocked: there are some, all wait, and neither a timer nor
    /// a green thread of any runtime in this process could end that. If so, writes a report to the
    /// file descriptor fd. Other threads are the caller's responsibility; external_waker objects
    /// count. Takes some milliseconds. Not from one of its own green threads.
    [[nodiscard]] bool report_deadlock(int fd) const noexcept;

    /// As weft::go and weft::async, but on this runtime for every caller. Fatal when it is stopped;
    /// its own Gs may call them while it stops.
    template <typename F>
    void go(F&& f, source_location where = source_location::current()) {
        detail::spawn(checked(), nullptr, std::forward<F>(f), where);
    }

    template <typename F>
    void go(const spawn_options& options, F&& f, source_location where = source_location::current()) {
        detail::spawn(checked(), &options, std::forward<F>(f), where);
    }

    /// As go, but returns false and does nothing after abandon() and in the last phase of
    /// shutdown(). For callers that do not know whether it is being stopped.
    template <typename F>
    [[nodiscard]] bool try_go(F&& f, source_location where = source_location::current()) {
        const detail::runtime_use s = use();
        if (s != nullptr) detail::spawn(s, nullptr, std::forward<F>(f), where);
        return s != nullptr;
    }

    template <typename F>
    [[nodiscard]] bool try_go(const spawn_options& options, F&& f, source_location where = source_location::current()) {
        const detail::runtime_use s = use();
        if (s != nullptr) detail::spawn(s, &options, std::forward<F>(f), where);
        return s != nullptr;
    }

    template <typename F>
    [[nodiscard]] auto async(F&& f, source_location where = source_location::current()) {
        return async_on(checked(), nullptr, std::forward<F>(f), where);
    }

    template <typename F>
    [[nodiscard]] auto async(const spawn_options& options, F&& f, source_location where = source_location::current()) {
        return async_on(checked(), &options, std::forward<F>(f), where);
    }

    /// Runs f as a green thread of this runtime and blocks the caller until it returns. Returns or
    /// throws what f does. Other Gs continue. Not a cancellation point: f may refer to the caller's
    /// frame.
    template <typename F>
    decltype(auto) run(F&& f, source_location where = source_location::current()) {
        const spawn_options named{.name = "run"};
        const detail::ambient_scope not_interrupted(detail::shield_context(), false);
        // The runtime is not pinned during the wait.
        auto result = async_on(checked(), &named, std::forward<F>(f), where);
        return result.get();
    }

private:
    friend struct observe::detail::access;

    // Which threads may start Gs. open: all. draining: all, until the drain ends. closed: its own
    // green threads.
    enum class openness : uint8_t { open, draining, closed };

    detail::runtime_use use() const noexcept;
    detail::runtime_use checked() const noexcept;
    detail::scheduler* begin_stop();
    void close() noexcept;
    bool close_if_drained(const detail::scheduler& s) noexcept;
    void forget(bool ended) noexcept;
    stop_outcome shutdown_by(int64_t deadline_ns);

    runtime_options options_;
    detail::atomic<detail::scheduler*> scheduler_{nullptr};
    detail::atomic<detail::scheduler*> left_behind_{nullptr};  // by the last stop, with stragglers
    uint32_t started_in_ = 0;                                  // fork generation
    mutable detail::spin_lock lock_;
    // Guarded by lock_, under which threads other than its own green threads pin the scheduler.
    openness open_ = openness::open;
};

/// Sets the number of Ps of the caller's runtime, or of the default one in a plain thread: 1 to
/// 1024. 0: the default, which is RUN_MAXPROCS, else what affinity and CPU quota allow, following
/// their changes. Other Ps take over what is queued or sleeping on a removed P. Returns the
/// previous number when the change is complete. Throws std::invalid_argument; std::bad_alloc or
/// resource_exhausted, with nothing changed.
unsigned set_max_procs(unsigned n);

namespace detail {

// Runs body(closure) as the main G of the default runtime on the calling thread; see weft::main. If
// the calling thread does not come back, the exit code or exception is found in code, error.
void run_main(const runtime_options& options,
              void (*body)(void*),
              void* closure,
              const int* code,
              const std::exception_ptr* error,
              source_location where);

}  // namespace detail

/// Runs f as the main green thread; the calling thread becomes M0 of the default runtime. Returns
/// what f returns (0 for void) or throws what it throws. When f returns, no other G is scheduled
/// and unfinished ones are abandoned, as in Go. Fatal in a green thread or while another weft::main
/// runs.
template <typename F>
int main(const runtime_options& options, F&& f, source_location where = source_location::current()) {
    struct call {
        std::remove_reference_t<F>& f;
        int code = 0;
        std::exception_ptr error;
    } c{f, 0, nullptr};

    detail::run_main(
        options,
        [](void* p) {
            call& self = *static_cast<call*>(p);
            try {
                if constexpr (std::is_void_v<std::invoke_result_t<F&>>) {
                    self.f();
                } else {
                    self.code = self.f();
                }
            } catch (...) {
                self.error = std::current_exception();
            }
        },
        &c, &c.code, &c.error, where);
    if (c.error) std::rethrow_exception(c.error);
    return c.code;
}

template <typename F>
int main(F&& f, source_location where = source_location::current()) {
    return main(runtime_options{}, std::forward<F>(f), where);
}

}  // namespace weft
