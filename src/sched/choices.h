// choices.h: settings of a runtime: from its options, else the environment, else defaults.
//
// An invalid option throws std::invalid_argument; an invalid variable is reported on stderr, and
// the default is used.
//
// See: docs/environment.md
#pragma once

#include <cstddef>
#include <cstdint>

#include <weft/runtime.h>

#include "sched/debug_options.h"
#include "stack/stack.h"

namespace weft::detail {

// The default number of Ps: RUN_MAXPROCS, else the processors that the process may use. follow:
// true in the latter case, in which it may change.
[[nodiscard]] uint32_t usual_procs() noexcept;
[[nodiscard]] bool usual_procs_follow() noexcept;

// Usable bytes of a default stack: the constant without a setting, if stacks are not fixed; the
// function without an option.
inline constexpr std::size_t default_stack_size = 256 * 1024;
[[nodiscard]] std::size_t usual_stack_size() noexcept;

[[nodiscard]] stack_pool::options choose_stacks(const runtime_options& options,
                                                uint32_t procs,
                                                const debug_options& debug,
                                                int64_t memory_idle_ns);

// The signal that interrupts marked code; 0: none.
[[nodiscard]] int choose_signal(const runtime_options& options);

// How long a G may run while others wait, in ns.
[[nodiscard]] int64_t choose_slice(const runtime_options& options);

// How long a G may run, or wait for a P, before a report on stderr, in ns; 0: RUN_DEBUG decides.
[[nodiscard]] int64_t choose_watchdog(const runtime_options& options) noexcept;

// How many ns unused memory is kept before it is given back; never: for ever.
[[nodiscard]] int64_t choose_memory_idle(const runtime_options& options);

// The limit of OS threads.
[[nodiscard]] uint32_t choose_threads_max() noexcept;

// The number of Ps, at most `wanted`, at least one: a blocking call needs a thread beside those
// with Ps.
[[nodiscard]] uint32_t procs_within(uint32_t threads_max, uint32_t wanted) noexcept;

// Reports on stderr if threads_max leaves no thread for blocking calls beside `wanted` Ps, and the
// consequence.
void warn_of_few_threads(uint32_t threads_max, uint32_t wanted) noexcept;

// How many ns a surplus thread waits for work before it ends.
[[nodiscard]] int64_t choose_thread_idle() noexcept;

}  // namespace weft::detail
