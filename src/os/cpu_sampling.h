// cpu_sampling.h: interrupts threads of the process each time that they have used some CPU time.
//
// Each thread gets a timer on its own CPU clock. Its signal is SIGURG, with a mark of its own
// (interrupt_signal.h), for three reasons:
//
//   - Ms take SIGURG and block all other signals. If they took SIGPROF, a handler of the program
//     could run on a green thread's stack.
//   - SIGPROF stays the program's.
//   - A signal that comes late is ignored by default, whereas SIGPROF ends the process.
//
// A thread that blocks SIGURG is not interrupted.
//
// Threads: one at a time. See: docs/profiling.md
#pragma once

#include <cstddef>
#include <cstdint>

#include "os/late_handlers.h"

namespace weft::detail::os {

struct fault;

inline constexpr bool can_sample = !handlers_come_late;

// A timer of one thread.
struct sampling_timer {
    int tid = 0;
    int id = 0;  // the system's
};

// From now on, each interrupted thread calls hook, which must be async-signal-safe, with its
// position (address: its stack pointer). periods: how many have passed; more than 1 if the thread
// did not get the signal in time. Returns false if the program has taken the signal's handler away:
// no hook is set. Requires: can_sample, and no other hook is set.
[[nodiscard]] bool begin_sampling(void (*hook)(const fault& at, uint32_t periods) noexcept) noexcept;

// On return, no thread is in the hook. Requires: all timers have ended.
void end_sampling() noexcept;

// Whether thread tid blocks the signal, or is in a call that waits for signals, during which the
// system does not tell. A timer's signal would stay pending until the thread waits for signals, and
// then be given to the program. false if the system does not say it.
[[nodiscard]] bool may_block_sampling(int tid) noexcept;

// Begins to interrupt thread tid. first_ns: the CPU time until the first interruption. Returns 0 or
// an errno value; ESRCH or EINVAL if the thread has ended.
[[nodiscard]] int start_timer(sampling_timer& timer, int tid, int64_t first_ns, int64_t period_ns) noexcept;

// Returns false if its thread has ended.
[[nodiscard]] bool has_thread(const sampling_timer& timer) noexcept;

void end_timer(const sampling_timer& timer) noexcept;

// Copies memory that another thread may unmap meanwhile, such as code of a library. Returns false
// if the system does not let us read all of it. Preserves errno.
[[nodiscard]] bool copy_memory(void* to, const void* from, std::size_t size) noexcept;

// In the child of a fork, which has no timers: no hook is set.
void forget_sampling() noexcept;

}  // namespace weft::detail::os
