// runtime.h: the scheduler as an object: its own Ps, threads and green threads.
//
// Most programs need only weft::main, which turns the body of main() into the first green thread of the default runtime and the
// process's main thread into its first M. A runtime object is for libraries and tests: it runs on threads of its own, several
// may exist at once, and each may be stopped and started again.
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

// What to do where a stack cannot get a guard region (old kernel, or no mappings left).
enum class guard_policy {
    when_possible,  // paint a canary, check it at every switch, and say so once on stderr
    always,         // refuse: starting the G throws resource_exhausted
};

struct runtime_options {
    unsigned procs = 0;  // Ps: green threads scheduled at once. 0: RUN_MAXPROCS, else what affinity and cgroup allow
    std::size_t stack_size = 0;  // usable bytes of a default stack. 0: RUN_STACK_MAX, else 256 KiB, 64 if fixed
    guard_policy guard = guard_policy::when_possible;
    bool retake = true;  // processors are taken from who blocks or computes while others wait. See docs/retake.md
    std::string name = "weft";  // prefix of the names of its threads
    stack_policy stacks =
        stack_policy::automatic;  // where their memory comes from. automatic: RUN_STACK_POLICY, else paged

    static constexpr int no_signal = -1;
    int preempt_signal =
        0;  // what interrupts code marked as preemptible. 0: RUN_PREEMPT_SIGNAL, else SIGURG. no_signal: nothing does

    std::chrono::nanoseconds slice{
        0};  // how long a G may run while others wait, 10 us to 10 s. 0: RUN_SLICE, else 10 ms

    std::chrono::milliseconds watchdog{
        0};  // says which G runs, or waits for a P, for longer. 0: RUN_DEBUG=watchdog=, else never

    static constexpr std::chrono::nanoseconds keep_memory{-1};
    std::chrono::nanoseconds memory_idle{
        0};  // memory of ended green threads that was not needed for so long goes back to the system, 1 ms to 1 h.
             // 0: RUN_MEMORY_IDLE, else 2 s. keep_memory: never. See docs/stacks.md
};

// How a runtime::stop() with a deadline went.
struct stop_outcome {
    std::size_t drained = 0;    // Gs that finished during it
    std::size_t cancelled = 0;  // waits that it interrupted; those that would have begun later are not counted
    std::size_t abandoned = 0;  // Gs that had not finished, and never will, but for those of stragglers
    std::size_t stragglers =
        0;  // OS threads whose G has not come back: they are left behind, with the memory of the runtime
};

namespace detail {

// A scheduler that does not go while this exists: because the caller is one of its green threads, or has pinned it.
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

// A scheduler with Ps and threads of its own. Not copyable or movable: green threads refer to it.
class runtime {
public:
    // Starts it. Throws resource_exhausted if stacks or the first thread cannot be had.
    explicit runtime(runtime_options options = {});

    // stop()s it; but leaves it as it is if one of its own green threads has called exit(), which destroys an object with static storage.
    ~runtime();

    runtime(const runtime&) = delete;
    runtime& operator=(const runtime&) = delete;

    // Starts it again after stop(). Does nothing if it runs. Throws as the constructor.
    void start();

    // Stops it: no G is scheduled any more; Gs that are running reach their next scheduling point first (a G that never does
    // holds stop() up). Gs that have not finished are abandoned without unwinding, as Go does when main returns; they are taken
    // out of the queues of objects that outlive them. Returns how many there were. Not from a G of this runtime: fatal.
    std::size_t stop();

    // Stops it with good manners: every wait of its Gs that is a cancellation point (cancel.h) ends with weft::cancelled, as if a scope
    // around all of them had been cancelled; then waits until all have finished, at most until the deadline; then as stop(). shield()
    // protects; throw_if_cancelled() tells those that compute. A G started with go() may end by that exception. Until then whoever likes may
    // start others: they are waited for, and cancelled, too.
    //
    // Gs that are still computing, or in a system call, 100 ms after the deadline are stragglers: they are named on stderr, and they, their
    // OS threads and the memory of the runtime are left behind. When one comes back, its thread ends. Threads that run no G have 5 s
    // more. The object may be destroyed, or started again. Not from a G of this runtime: fatal. Not a cancellation point.
    template <typename Clock, typename Duration>
    stop_outcome stop(std::chrono::time_point<Clock, Duration> deadline) {
        return stop_by(detail::deadline_at(deadline));
    }

    template <typename Rep, typename Period>
    stop_outcome stop(std::chrono::duration<Rep, Period> timeout) {
        return stop_by(detail::deadline_after(timeout));
    }

    // Whether it is started: not in the child of fork, where it may be started again.
    [[nodiscard]] bool running() const noexcept;

    // Waits until every G has finished. Gs may be started meanwhile. Not from a G of this runtime. Not a cancellation point.
    void drain();

    // The number of Ps.
    [[nodiscard]] unsigned procs() const noexcept;

    // Changes it while green threads run; see weft::set_max_procs. Any thread.
    unsigned set_max_procs(unsigned n);

    [[nodiscard]] stats_snapshot stats() const noexcept;

    // As weft::stack_use, for this runtime.
    std::size_t stack_use(std::span<stack_use_at> into) const noexcept;
    // As weft::scheduling_latency and weft::stats_of_procs, for this runtime.
    [[nodiscard]] latency_histogram scheduling_latency() const noexcept;
    std::size_t stats_of_procs(proc_snapshot* all, std::size_t count) const noexcept;

    // As weft::dump, for this runtime.
    void dump(int fd) const noexcept;

    // Whether its green threads are in a deadlock: there are some, all wait, and neither a timer nor a green thread of any runtime in this
    // process could end that. If so, a report goes to the file descriptor fd. Other threads are the caller's business, and external_waker
    // objects count. Takes some milliseconds. Not from one of its own green threads.
    [[nodiscard]] bool report_deadlock(int fd) const noexcept;

    // As weft::go and weft::async, but on this runtime, whoever calls. Fatal when it is stopped; not while it stops, for its own Gs.
    template <typename F>
    void go(F&& f, source_location where = source_location::current()) {
        detail::spawn(checked(), nullptr, std::forward<F>(f), where);
    }

    template <typename F>
    void go(const spawn_options& options, F&& f, source_location where = source_location::current()) {
        detail::spawn(checked(), &options, std::forward<F>(f), where);
    }

    // As go, for those who do not know whether it is being stopped: false, and nothing was done, after stop(), and at its end.
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

    // Runs f as a green thread of this runtime and blocks the caller until it returns. Returns what f returns, throws what it
    // throws. Other Gs go on. Not a cancellation point: f may refer to the caller's frame.
    template <typename F>
    decltype(auto) run(F&& f, source_location where = source_location::current()) {
        const spawn_options named{.name = "run"};
        const detail::ambient_scope not_interrupted(detail::shield_context(), false);
        // The runtime is not held on to while we wait.
        auto result = async_on(checked(), &named, std::forward<F>(f), where);
        return result.get();
    }

private:
    // From start() to stop(): to all, to all until the drain is over, to its own green threads.
    enum class openness : uint8_t { open, draining, closed };

    detail::runtime_use use() const noexcept;
    detail::runtime_use checked() const noexcept;
    detail::scheduler* begin_stop();
    void close() noexcept;
    bool close_if_drained(const detail::scheduler& s) noexcept;
    void forget(bool ended) noexcept;
    stop_outcome stop_by(int64_t deadline_ns);

    runtime_options options_;
    detail::atomic<detail::scheduler*> scheduler_{nullptr};
    detail::atomic<detail::scheduler*> left_behind_{nullptr};  // by the last stop, with stragglers
    uint32_t started_in_ = 0;                                  // which fork's child
    mutable detail::spin_lock lock_;
    openness open_ =
        openness::open;  // guarded by lock_, under which others than its own green threads pin the scheduler
};

// From now on n green threads of the caller's runtime are scheduled at once, or of the default one if the caller is a plain thread; 1 to 1024.
// 0: the usual number, RUN_MAXPROCS, else as many as affinity and CPU quota allow, followed from then on while they change.
// Nothing is lost: what is queued and what sleeps on a processor that goes is taken over by others. Returns when it is so, how
// many it was before. Throws std::invalid_argument, and std::bad_alloc or resource_exhausted with nothing changed.
unsigned set_max_procs(unsigned n);

namespace detail {

// Runs body(closure) as the main G of the default runtime on the calling thread; see weft::main. code and error: where body leaves the
// exit code or an exception, should the calling thread not come back.
void run_main(const runtime_options& options,
              void (*body)(void*),
              void* closure,
              const int* code,
              const std::exception_ptr* error,
              source_location where);

}  // namespace detail

// Runs f as the main green thread: the calling thread becomes M0 of the default runtime. Returns what f returns (0 if that is
// void); an exception of f travels. When f returns no other G is scheduled any more and what is left of them is abandoned,
// as when main returns in Go. Fatal if called from a green thread or while another weft::main runs.
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
