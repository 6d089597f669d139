// wait_observer.cc: see wait_observer.h.
#include "sched/wait_observer.h"

#include "os/os.h"
#include "sched/g.h"
#include "sched/m.h"

namespace weft::detail {

constinit revocable<wait_observer, 64> observer_of_waits;

namespace {

uint32_t stripe_of(const M* m) noexcept { return m != nullptr ? m->index : static_cast<uint32_t>(os::current_tid()); }

}  // namespace

void tell_wait_begins_slow(const M* m, const G& from) noexcept {
    const auto what = m->after.what;
    if (what != after_switch::kind::park && what != after_switch::kind::park_claimable &&
        what != after_switch::kind::park_claimable_many)
        return;
    observer_of_waits.call(stripe_of(m), [&](wait_observer& w) noexcept { w.begins(from); });
}

void tell_wait_ends_slow(const M* m, const G& g) noexcept {
    if (g.never_ran()) return;
    observer_of_waits.call(stripe_of(m), [&](wait_observer& w) noexcept { w.ends(m, g); });
}

}  // namespace weft::detail
