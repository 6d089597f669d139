// choices.h: what a runtime is made with: its options, else the environment, else what is usual.
//
// What an option must not be throws std::invalid_argument; what a variable must not be is said on stderr, and the usual is taken.
//
// See: docs/environment.md
#pragma once

#include <cstddef>
#include <cstdint>

#include <weft/runtime.h>

#include "sched/debug_options.h"
#include "stack/stack.h"

namespace weft::detail {

// How many Ps there are if nobody says: RUN_MAXPROCS, else the processors the process may use; and whether it is the latter, which may change.
[[nodiscard]] uint32_t usual_procs() noexcept;
[[nodiscard]] bool usual_procs_follow() noexcept;

// Usable bytes of a default stack, if neither options nor environment say otherwise, and the stacks are not fixed; and if only options do not.
inline constexpr std::size_t default_stack_size = 256 * 1024;
[[nodiscard]] std::size_t usual_stack_size() noexcept;

[[nodiscard]] stack_pool::options choose_stacks(const runtime_options& options,
                                                uint32_t procs,
                                                const debug_options& debug,
                                                int64_t memory_idle_ns);

// What interrupts marked code; 0: nothing.
[[nodiscard]] int choose_signal(const runtime_options& options);

// How long a G may run while others wait, in ns.
[[nodiscard]] int64_t choose_slice(const runtime_options& options);

// How long a G may run, or wait for a P, before stderr says so, in ns; 0: as RUN_DEBUG says.
[[nodiscard]] int64_t choose_watchdog(const runtime_options& options) noexcept;

// After how many ns in which it was not needed memory goes back; never: it does not.
[[nodiscard]] int64_t choose_memory_idle(const runtime_options& options);

// How many OS threads there may be.
[[nodiscard]] uint32_t choose_threads_max() noexcept;

// The number of Ps, wanted or fewer: a blocking call needs a thread beside those that hold Ps. One at least.
[[nodiscard]] uint32_t procs_within(uint32_t threads_max, uint32_t wanted) noexcept;

// Says on stderr if threads_max leaves no thread for a blocking call beside wanted Ps, and what is done about it.
void warn_of_few_threads(uint32_t threads_max, uint32_t wanted) noexcept;

// After how many ns without work one that is too many ends.
[[nodiscard]] int64_t choose_thread_idle() noexcept;

}  // namespace weft::detail
