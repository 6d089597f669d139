// config.cc: see config.h.
#include "lifecycle/config.h"

#include <algorithm>
#include <chrono>
#include <stdexcept>
#include <string>

#include "base/assert.h"
#include "os/commit.h"
#include "os/interrupt_signal.h"
#include "os/os.h"
#include "sched/p.h"
#include "sched/procs.h"

namespace weft::detail {

namespace {

constexpr std::size_t fixed_stack_size = 64 * 1024;
constexpr std::size_t smallest_stack = 16 * 1024;
constexpr std::size_t largest_default_stack = 64 * 1024 * 1024;
constexpr int64_t us = 1'000;  // in ns
constexpr int64_t ms = 1'000 * us;
constexpr int64_t sec = 1'000 * ms;
constexpr int64_t default_slice_ns = 10 * ms;
constexpr int64_t shortest_slice_ns = 10 * us;
constexpr int64_t longest_slice_ns = 10 * sec;
constexpr int64_t default_thread_idle_ns = 5 * sec;
constexpr int64_t default_memory_idle_ns = 2 * sec;
constexpr int64_t shortest_memory_idle_ns = 1 * ms;
constexpr int64_t longest_memory_idle_ns = 3'600 * sec;
constexpr int64_t longest_timer_slack_ns = 1 * sec;
constexpr uint64_t default_threads_max = 10'000;
constexpr std::chrono::milliseconds longest_watchdog = std::chrono::hours(365 * 24);  // longer than any process runs

stack_policy policy_of_environment() noexcept {
    const char* const names[] = {"paged", "fixed", "growing"};
    constexpr unsigned usual = os::charges_untouched_pages ? 2 : 0;
    return static_cast<stack_policy>(static_cast<unsigned>(stack_policy::paged) +
                                     os::env_word("RUN_STACK_POLICY", names, usual));
}

std::size_t stack_size_of_environment(stack_policy policy) noexcept {
    const std::size_t usual = policy == stack_policy::fixed ? fixed_stack_size : default_stack_size;
    return os::env_number("RUN_STACK_MAX", smallest_stack, largest_default_stack, usual);
}

// 0: no signal.
int signal_of_environment() noexcept {
    constexpr int usual = os::default_interrupt_signal;
    const int signal = static_cast<int>(os::env_number("RUN_PREEMPT_SIGNAL", 0, os::largest_signal, usual));
    if (signal == 0 || os::may_interrupt(signal)) return signal;
    warn("RUN_PREEMPT_SIGNAL=%d is a signal that cannot interrupt threads; using %d", signal, usual);
    return usual;
}

}  // namespace

stack_pool::options choose_stacks(const runtime_options& options,
                                  uint32_t procs,
                                  const debug_options& debug,
                                  int64_t memory_idle_ns) {
    stack_pool::options o{};
    o.policy = options.stacks == stack_policy::automatic ? policy_of_environment() : options.stacks;
    o.default_size = options.stack_size;
    if (o.default_size == 0) {
        o.default_size = stack_size_of_environment(o.policy);
    }
    if (o.default_size < smallest_stack || o.default_size > largest_default_stack) {
        throw std::invalid_argument("weft: runtime_options::stack_size is " + std::to_string(o.default_size) +
                                    " bytes; it must be from 16 KiB to 64 MiB");
    }
    o.cache_reserve = procs * stacks_kept_by_p + trimmed_at_once;
    o.always_guard = options.guard == guard_policy::always;
    o.measured = debug.stack_use;
    o.trims = memory_idle_ns != never;
    return o;
}

int choose_signal(const runtime_options& options) {
    const int chosen = options.preempt_signal;
    if (chosen != 0 && chosen != runtime_options::no_signal && !os::may_interrupt(chosen)) {
        throw std::invalid_argument("weft: runtime_options::preempt_signal is " + std::to_string(chosen) +
                                    ", which cannot interrupt threads; use another signal, or no_signal");
    }
    if (!os::can_interrupt || chosen == runtime_options::no_signal) return 0;
    return chosen == 0 ? signal_of_environment() : chosen;
}

int64_t choose_slice(const runtime_options& options) {
    const int64_t ns = std::chrono::nanoseconds(options.slice).count();
    if (ns == 0) return os::env_time_ns("RUN_SLICE", shortest_slice_ns, longest_slice_ns, default_slice_ns);
    if (ns >= shortest_slice_ns && ns <= longest_slice_ns) return ns;
    throw std::invalid_argument("weft: runtime_options::slice is " + std::to_string(ns) +
                                " ns; it must be from 10 us to 10 s");
}

int64_t choose_memory_idle(const runtime_options& options) {
    int64_t ns = std::chrono::nanoseconds(options.memory_idle).count();
    if (options.memory_idle == runtime_options::keep_memory) return never;
    if (ns == 0) {
        ns = os::env_time_ns("RUN_MEMORY_IDLE", 0, longest_memory_idle_ns, default_memory_idle_ns);
        return ns == 0 ? never : std::max(ns, shortest_memory_idle_ns);
    }
    if (ns >= shortest_memory_idle_ns && ns <= longest_memory_idle_ns) return ns;
    throw std::invalid_argument("weft: runtime_options::memory_idle is " + std::to_string(ns) +
                                " ns; it must be from 1 ms to 1 h, or keep_memory");
}

int64_t choose_timer_slack(const runtime_options& options) {
    const int64_t ns = options.timer_slack.count();
    if (ns == 0) return os::env_time_ns("RUN_TIMER_SLACK", 0, longest_timer_slack_ns, 0);
    if (ns > 0 && ns <= longest_timer_slack_ns) return ns;
    throw std::invalid_argument("weft: runtime_options::timer_slack is " + std::to_string(ns) +
                                " ns; it must be from 0 to 1 s");
}

// The requested time may not fit into ns.
int64_t choose_watchdog(const runtime_options& options) noexcept {
    using std::chrono::milliseconds;
    return std::chrono::nanoseconds(std::clamp(options.watchdog, milliseconds::zero(), longest_watchdog)).count();
}

uint32_t choose_threads_max() noexcept {
    return static_cast<uint32_t>(os::env_number("RUN_MAX_THREADS", 1, 1 << 20, default_threads_max));
}

void warn_of_few_threads(uint32_t threads_max, uint32_t wanted) noexcept {
    const uint32_t procs = procs_within(threads_max, wanted);
    if (threads_max == 1) {
        warn(
            "RUN_MAX_THREADS=1 leaves no thread for other green threads while one is in a blocking call; set it to 2 "
            "or more");
    } else if (procs != wanted) {
        warn("RUN_MAX_THREADS=%u leaves no thread for blocking calls beside %u processors; using %u processors",
             threads_max, wanted, procs);
    }
}

int64_t choose_thread_idle() noexcept {
    return os::env_time_ns("RUN_THREAD_IDLE", 1 * ms, 3'600 * sec, default_thread_idle_ns);
}

uint32_t usual_procs() noexcept {
    const uint32_t cpus = std::min(os::usable_cpus(), procs_max);
    return static_cast<uint32_t>(os::env_number("RUN_MAXPROCS", 1, procs_max, cpus));
}

std::size_t usual_stack_size() noexcept { return stack_size_of_environment(policy_of_environment()); }

bool usual_procs_follow() noexcept { return os::read_env("RUN_MAXPROCS").text == nullptr; }

}  // namespace weft::detail
