// start.h: the threads of a scheduler, and its beginning and end.
//
// See: docs/runtime.md
#pragma once

#include <weft/detail/source_location.h>

#include "sched/scheduler.h"

namespace weft::detail {

// Makes a scheduler for options, with environment and defaults filled in, and no threads yet. Throws resource_exhausted.
[[nodiscard]] scheduler* make_scheduler(const runtime_options& options);

// Creates an M whose thread starts with p and g (nullptr: spinning). Returns 0 or an errno value.
[[nodiscard]] int start_m(scheduler& s, P* p, G* g) noexcept;

// There were before Ps and are to be n now: as many more or fewer places for blocking calls.
void follow_procs(scheduler& s, uint32_t before, uint32_t n) noexcept;

// For weft::main, whose thread becomes an M: an M without a thread (nullptr: no memory), its place in the list of Ms (false: the
// limit is reached), and the calling thread as that M, until abandon_thread.
[[nodiscard]] M* make_m(scheduler& s) noexcept;
[[nodiscard]] bool enlist(scheduler& s, M* m) noexcept;
void adopt_thread(M* m) noexcept;
void abandon_thread(M* m) noexcept;

// There is one main G at a time. claim_main: whether the caller may make one; release_main when that has ended.
[[nodiscard]] bool claim_main() noexcept;
[[nodiscard]] bool main_is_running() noexcept;
void release_main() noexcept;

// Makes s the default scheduler; returns the one before. Whoever has found that one has pinned it.
scheduler* exchange_default(scheduler* s) noexcept;

// m, which is the calling thread, gets P 0 of s, of which it is the first M.
void acquire_first_p(scheduler& s, M* m) noexcept;

// The main G has ended, on M0's thread, which is no M any more: waits for the other Ms, but not for ever, since a G that never comes back
// keeps its M. Then s is destroyed. False: such a G is left, and s stays for ever.
[[nodiscard]] bool finish_main(scheduler* s) noexcept;

// The same for whoever stops s with a deadline, when all has been done to drain it, and who destroys it then; finished is how many Gs had
// finished before that. Who is left is named on stderr. Fills in all of done but cancelled.
[[nodiscard]] bool finish_stop(scheduler* s, uint64_t finished, stop_outcome& done) noexcept;

// No M of s runs any more, or ever did.
void destroy(scheduler* s) noexcept;

// Starts the first M, so that there is somebody to wake the others. Throws resource_exhausted.
void start_first_m(scheduler& s);

// Asks all Ms to stop at their next scheduling point. No G is scheduled from then on.
void request_stop(scheduler& s) noexcept;

// Makes all Ms stop at their next scheduling point and waits for them, at most until deadline_ns. True: all have ended; then the Gs that
// are left have been taken off every queue, and abandoned says how many there were.
[[nodiscard]] bool stop_scheduler(scheduler& s, int64_t deadline_ns, std::size_t& abandoned) noexcept;

}  // namespace weft::detail
