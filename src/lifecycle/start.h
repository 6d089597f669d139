// start.h: the threads of a scheduler, its start and its end.
#pragma once

#include <weft/detail/source_location.h>

#include "sched/scheduler.h"

namespace weft::detail {

// Makes a scheduler without Ms, and starts its monitor. Throws resource_exhausted,
// std::invalid_argument or std::bad_alloc.
[[nodiscard]] scheduler* make_scheduler(const runtime_options& options);

// Starts an M with p and g. Without g it spins; without p it sleeps. Returns 0 or an errno value.
[[nodiscard]] int start_m(scheduler& s, P* p, G* g) noexcept;

// Adapts the call permits to n instead of `before` Ps.
void follow_procs(scheduler& s, uint32_t before, uint32_t n) noexcept;

// make_m: nullptr: no memory. enlist: false: the limit is reached. adopt_thread: the calling thread
// becomes m, until abandon_thread.
[[nodiscard]] M* make_m(scheduler& s) noexcept;
[[nodiscard]] bool enlist(scheduler& s, M* m) noexcept;
void adopt_thread(M* m) noexcept;
void abandon_thread(M* m) noexcept;

// At most one main G exists. claim_main: true if the caller may make it.
[[nodiscard]] bool claim_main() noexcept;
[[nodiscard]] bool main_is_running() noexcept;
void release_main() noexcept;

// Returns the previous default scheduler, which its users have pinned.
scheduler* exchange_default(scheduler* s) noexcept;

// Gives P 0 to m, the calling thread and first M of s.
void acquire_first_p(scheduler& s, M* m) noexcept;

// The main G has ended, and M0's thread is no M: waits a limited time for the other Ms, and
// destroys s. False: a G did not return, and s is left for ever.
[[nodiscard]] bool finish_main(scheduler* s) noexcept;

// The same for shutdown, but the caller destroys s. finished: Gs finished before. Sets all of done
// except cancelled.
[[nodiscard]] bool finish_stop(scheduler* s, uint64_t finished, stop_outcome& done) noexcept;

// Precondition: all Ms of s have ended, or none ever ran.
void destroy(scheduler* s) noexcept;

// Throws std::invalid_argument, as make_scheduler.
void check_runtime_options(const runtime_options& options);

// Throws resource_exhausted.
void start_first_m(scheduler& s);

// Asks all Ms to stop at their next scheduling point. No G is scheduled after that.
void request_stop(scheduler& s) noexcept;

// The same, and waits until deadline_ns. True: all Ms have ended, and the `abandoned` Gs left are
// on no queue.
[[nodiscard]] bool stop_scheduler(scheduler& s, int64_t deadline_ns, std::size_t& abandoned) noexcept;

}  // namespace weft::detail
