// config.h: a runtime's settings, from options, else environment, else defaults.
//
// Invalid options throw std::invalid_argument; invalid variables are reported on stderr and
// ignored.
//
// See: docs/environment.md
#pragma once

#include <cstddef>
#include <cstdint>

#include <weft/runtime.h>

#include "lifecycle/debug_options.h"
#include "stack/stack.h"

namespace weft::detail {

// The default number of Ps: RUN_MAXPROCS, else the usable processors. follow: true for the latter,
// which may change.
[[nodiscard]] uint32_t usual_procs() noexcept;
[[nodiscard]] bool usual_procs_follow() noexcept;

// Usable bytes of a default stack. The constant applies without options and variables, the function
// without options.
inline constexpr std::size_t default_stack_size = 256 * 1024;
[[nodiscard]] std::size_t usual_stack_size() noexcept;

[[nodiscard]] stack_pool::options choose_stacks(const runtime_options& options,
                                                uint32_t procs,
                                                const debug_options& debug,
                                                int64_t memory_idle_ns);

// The signal that interrupts marked code; 0: none.
[[nodiscard]] int choose_signal(const runtime_options& options);

// All times are in ns.
[[nodiscard]] int64_t choose_slice(const runtime_options& options);

// 0: as RUN_DEBUG says.
[[nodiscard]] int64_t choose_watchdog(const runtime_options& options) noexcept;

// never: unused memory is kept for ever.
[[nodiscard]] int64_t choose_memory_idle(const runtime_options& options);

[[nodiscard]] int64_t choose_timer_slack(const runtime_options& options);

[[nodiscard]] uint32_t choose_threads_max() noexcept;

// Warns if threads_max leaves no thread for blocking calls beside `wanted` Ps.
void warn_of_few_threads(uint32_t threads_max, uint32_t wanted) noexcept;

// How long a surplus thread without work stays.
[[nodiscard]] int64_t choose_thread_idle() noexcept;

}  // namespace weft::detail
