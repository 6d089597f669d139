// wait_observer.h: tells a profile when waits of green threads begin and end.
//
// It is told where a recording notes the same (recording.cc), so only of Gs that have the bit
// special::traced, and programs without a profile execute nothing for it.
//
// A program sets an observer by observer_of_waits.set(), and removes it by revoke(). Not in the
// child of a fork, where calls that were under way never end.
//
// Threads:  set, revoke, begin_tracing, end_tracing: any. tell_…: those of record_….
#pragma once

#include "base/revocable.h"

namespace weft::detail {

struct G;
struct M;
struct recording;

// Its functions neither allocate nor throw, and do not wait for other threads.
class wait_observer {
public:
    // g leaves its M to wait. On g's own stack, or on that of its M; g's registers are not saved.
    virtual void begins(const G& g) noexcept = 0;

    // The wait of g is over: its registers are saved, and it is in no queue yet. m: the M that
    // ended the wait; nullptr: a thread without a P of g's runtime did.
    virtual void ends(const M* m, const G& g) noexcept = 0;

protected:
    ~wait_observer() = default;
};

extern constinit revocable<wait_observer, 64> observer_of_waits;

// Sets the bit special::traced in all Gs of a runtime, without a ring for events.
void begin_tracing(recording& r) noexcept;
void end_tracing(recording& r) noexcept;

[[gnu::cold]] void tell_wait_begins_slow(const M* m, const G& from) noexcept;
[[gnu::cold]] void tell_wait_ends_slow(const M* m, const G& g) noexcept;

// from leaves m, as m->after says.
inline void tell_wait_begins(const M* m, const G& from) noexcept {
    if (observer_of_waits.is_set()) [[unlikely]]
        tell_wait_begins_slow(m, from);
}

// g becomes runnable. It may also start, or yield.
inline void tell_wait_ends(const M* m, const G& g) noexcept {
    if (observer_of_waits.is_set()) [[unlikely]]
        tell_wait_ends_slow(m, g);
}

}  // namespace weft::detail
