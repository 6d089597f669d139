// start.h: the threads of a scheduler, its start and its end.
#pragma once

#include <weft/detail/source_location.h>

#include "sched/scheduler.h"

namespace weft::detail {

// Makes a scheduler, without threads, from options, environment and defaults. Throws
// resource_exhausted.
[[nodiscard]] scheduler* make_scheduler(const runtime_options& options);

// Creates an M whose thread starts with p and g (nullptr: spinning). Returns 0 or an errno value.
[[nodiscard]] int start_m(scheduler& s, P* p, G* g) noexcept;

// Adapts the number of call places after a change from `before` to n Ps.
void follow_procs(scheduler& s, uint32_t before, uint32_t n) noexcept;

// For weft::main, whose thread becomes an M. make_m: an M without a thread; nullptr: no memory.
// enlist: lists it; false: the limit is reached. adopt_thread: makes the calling thread that M,
// until abandon_thread.
[[nodiscard]] M* make_m(scheduler& s) noexcept;
[[nodiscard]] bool enlist(scheduler& s, M* m) noexcept;
void adopt_thread(M* m) noexcept;
void abandon_thread(M* m) noexcept;

// At most one main G exists. claim_main: true if the caller may make it. release_main: it has
// ended.
[[nodiscard]] bool claim_main() noexcept;
[[nodiscard]] bool main_is_running() noexcept;
void release_main() noexcept;

// Makes s the default scheduler; returns the previous one. A thread that has found that one has
// pinned it.
scheduler* exchange_default(scheduler* s) noexcept;

// Gives m, the calling thread and first M of s, P 0.
void acquire_first_p(scheduler& s, M* m) noexcept;

// After the main G, on M0's thread, which is no longer an M: waits a limited time for the other Ms,
// then destroys s. False: a G did not return and keeps its M; s is left for ever.
[[nodiscard]] bool finish_main(scheduler* s) noexcept;

// The same after draining, for a stop with a deadline; the caller destroys s. finished: how many Gs
// had finished before. Names stragglers on stderr. Sets all of done except cancelled.
[[nodiscard]] bool finish_stop(scheduler* s, uint64_t finished, stop_outcome& done) noexcept;

// Precondition: no M of s runs, or ever will.
void destroy(scheduler* s) noexcept;

// Starts the first M, which can wake others. Throws resource_exhausted.
void start_first_m(scheduler& s);

// Asks all Ms to stop at their next scheduling point. No G is scheduled after that.
void request_stop(scheduler& s) noexcept;

// Stops all Ms at their next scheduling point, and waits for them until deadline_ns. True: all have
// ended, and the remaining Gs, `abandoned` of them, are on no queue.
[[nodiscard]] bool stop_scheduler(scheduler& s, int64_t deadline_ns, std::size_t& abandoned) noexcept;

}  // namespace weft::detail
