// wait_observer.h: tells a profile when waits of green threads begin and end, and a recording where
// they were.
//
// Both are told where a recording notes the same (recording.cc), so only of Gs that have the bit
// special::traced, and programs without a profile execute nothing for it.
//
// Threads:  set_…, clear_…, watch_…, unwatch_…, begin_tracing, end_tracing: any. tell_…: those of
//           record_….
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

// The observer, and recordings with stacks.
extern constinit atomic<uint32_t> watchers_of_waits;

// Waits may see it late.
inline void watch_waits() noexcept { watchers_of_waits.fetch_add(1, relaxed); }  // relaxed: see above

inline void unwatch_waits() noexcept { watchers_of_waits.fetch_sub(1, relaxed); }  // relaxed: see above

// Returns false if there is another one.
[[nodiscard]] bool set_wait_observer(wait_observer& w) noexcept;

// Waits for calls that are under way. Not in the child of a fork, where these never end.
void clear_wait_observer() noexcept;

// Sets the bit special::traced in all Gs of a runtime, without a ring for events.
void begin_tracing(recording& r) noexcept;
void end_tracing(recording& r) noexcept;

[[gnu::cold]] void tell_wait_begins_slow(const M* m, const G& from) noexcept;
[[gnu::cold]] void tell_wait_ends_slow(const M* m, const G& g) noexcept;

// from leaves m, as m->after says.
inline void tell_wait_begins(const M* m, const G& from) noexcept {
    if (watchers_of_waits.load(relaxed_hint) != 0) [[unlikely]]
        tell_wait_begins_slow(m, from);
}

// g becomes runnable. It may also start, or yield.
inline void tell_wait_ends(const M* m, const G& g) noexcept {
    if (watchers_of_waits.load(relaxed_hint) != 0) [[unlikely]]
        tell_wait_ends_slow(m, g);
}

}  // namespace weft::detail
