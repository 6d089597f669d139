// wait_observer.cc: see wait_observer.h.
#include "sched/wait_observer.h"

#include "os/os.h"
#include "sched/g.h"
#include "sched/m.h"
#include "sched/recording.h"

namespace weft::detail {

constinit atomic<uint32_t> watchers_of_waits{0};

namespace {

constinit revocable<wait_observer, 64> the_observer;

uint32_t stripe_of(const M* m) noexcept { return m != nullptr ? m->index : static_cast<uint32_t>(os::current_tid()); }

}  // namespace

bool set_wait_observer(wait_observer& w) noexcept {
    if (!the_observer.set(w)) return false;
    watch_waits();
    return true;
}

void clear_wait_observer() noexcept {
    unwatch_waits();
    the_observer.revoke();
}

void tell_wait_begins_slow(const M* m, const G& from) noexcept {
    const auto what = m->after.what;
    if (what != after_switch::kind::park && what != after_switch::kind::park_claimable &&
        what != after_switch::kind::park_claimable_many)
        return;
    the_observer.call(stripe_of(m), [&](wait_observer& w) noexcept { w.begins(from); });
}

void tell_wait_ends_slow(const M* m, const G& g) noexcept {
    if (g.never_ran()) return;
    the_observer.call(stripe_of(m), [&](wait_observer& w) noexcept { w.ends(m, g); });
    record_stack(m, g);
}

}  // namespace weft::detail
