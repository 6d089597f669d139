// start.h: the threads of a scheduler, its start and its end.
#pragma once

#include <weft/detail/source_location.h>

#include "sched/scheduler.h"

namespace weft::detail {

// Makes a scheduler without threads from options, environment and defaults. Throws
// resource_exhausted.
[[nodiscard]] scheduler* make_scheduler(const runtime_options& options);

// Starts an M with p and g (nullptr: spinning). Returns 0 or an errno value.
[[nodiscard]] int start_m(scheduler& s, P* p, G* g) noexcept;

// Adapts the call places to n instead of `before` Ps.
void follow_procs(scheduler& s, uint32_t before, uint32_t n) noexcept;

// For weft::main. make_m: an M without a thread; nullptr: no memory. enlist: lists it; false: the
// limit is reached. adopt_thread: makes the calling thread that M, until abandon_thread.
[[nodiscard]] M* make_m(scheduler& s) noexcept;
[[nodiscard]] bool enlist(scheduler& s, M* m) noexcept;
void adopt_thread(M* m) noexcept;
void abandon_thread(M* m) noexcept;

// At most one main G exists. claim_main: true if the caller may make it. release_main: it has
// ended.
[[nodiscard]] bool claim_main() noexcept;
[[nodiscard]] bool main_is_running() noexcept;
void release_main() noexcept;

// Sets the default scheduler; returns the previous one, which its users have pinned.
scheduler* exchange_default(scheduler* s) noexcept;

// Gives P 0 to m, the calling thread and first M of s.
void acquire_first_p(scheduler& s, M* m) noexcept;

// The main G has ended, and M0's thread is no M: waits a limited time for the other Ms, and
// destroys s. False: a G did not return and keeps its M; s is left for ever.
[[nodiscard]] bool finish_main(scheduler* s) noexcept;

// The same after draining, in a stop with a deadline; the caller destroys s. finished: Gs finished
// before. Names stragglers on stderr. Sets all of done except cancelled.
[[nodiscard]] bool finish_stop(scheduler* s, uint64_t finished, stop_outcome& done) noexcept;

// Precondition: all Ms of s have ended, or none ever ran.
void destroy(scheduler* s) noexcept;

// Starts the first M, which can wake others. Throws resource_exhausted.
void start_first_m(scheduler& s);

// Asks all Ms to stop at their next scheduling point. No G is scheduled after that.
void request_stop(scheduler& s) noexcept;

// The same, and waits until deadline_ns. True: all Ms have ended, and the `abandoned` Gs left are
// on no queue.
[[nodiscard]] bool stop_scheduler(scheduler& s, int64_t deadline_ns, std::size_t& abandoned) noexcept;

}  // namespace weft::detail
