// abandon.cc: see abandon.h.
#include "lifecycle/abandon.h"

#include <weft/detail/select_case.h>

#include "base/abandoned.h"
#include "base/assert.h"
#include "os/os.h"
#include "per_g/inheritance.h"
#include "per_g/labels.h"
#include "per_g/local.h"
#include "per_g/spawn_resources.h"
#include "sched/park.h"
#include "sched/spawn.h"
#include "sched/switch.h"

namespace weft::detail {

namespace {

// Without the queue's lock, w may leave but not enter: its G does not run.
bool is_linked(const waiter& w) noexcept { return w.queue.peek() != nullptr; }

// False: w was not linked.
bool unlink(waiter& w) noexcept {
    if (!is_linked(w)) return false;
    const uint32_t bits = w.lock->lock_bits();
    const bool linked = is_linked(w);
    if (linked) w.queue->remove(w);
    w.lock->unlock_bits(bits);
    return linked;
}

// Waits until the external thread that has claimed g, and touches its frame, makes it runnable.
void await_waker(const G& g) noexcept {
    for (uint32_t i = 0; g.state.load(acquire) == g_state::waiting; ++i) spin_backoff(i);  // pairs with set_state
}

// For a g whose first waiter has a claim word. True: g was served.
bool unlink_claimed(G& g, waiter& first) noexcept {
    bool must_ready = false;
    const bool too_late = !first.claim->try_claim(claimed_by::nobody_left, must_ready);
    if (too_late) await_waker(g);
    for (waiter* w = &first; w != nullptr; w = w->also) unlink(*w);
    const bool in_context = (g.traits & trait::ambient) != 0 && is_context(g.ambient);
    if (in_context) g.ambient->leave_wait();
    return too_late && first.claim->winner() < claimed_by::deadline;
}

// The select of `first` was served. If by a file's edge, another waiter may have to act on it.
void pass_edge_on(waiter& first) noexcept {
    for (waiter* w = &first; w != nullptr; w = w->also) {
        if (first.claim != nullptr && w->which != first.claim->winner()) continue;
        auto& one = *reinterpret_cast<select_case*>(w);  // its first member is the waiter
        if (one.ops != nullptr && one.ops->confirm != nullptr) static_cast<void>(one.ops->confirm(one));
        return;
    }
}

}  // namespace

// Waits for the external thread if one has claimed g. Touches an object only while g is linked to
// it: others may be gone.
void unlink_waiter(G& g) noexcept {
    const g_state state = g.state.load(acquire);  // pairs with set_state
    if (state == g_state::dead) return;
    tell_acquired(&g.since_ns);  // tell_leaving
    // A runnable G may be linked: its wait timed out.
    waiter* w = g.waiting;
    if (w == nullptr || w->lock == nullptr) return;
    // First: a mutex may be destroyed once g is off its queue.
    if ((g.traits & trait::recorded) != 0) waits_for_nothing(g);
    bool served = false;
    if (w->claim == &cancelled_by_stop) {  // off its queue, and has not run since
        if (g.reason == wait_reason::semaphore_acquire) semaphore_wait_abandoned(*w);
        return;
    }
    if (w->claim != nullptr) {
        served = unlink_claimed(g, *w);
    } else if (!unlink(*w)) {
        await_waker(g);
        served = true;
    }
    if (g.reason == wait_reason::select_fd) {
        if (served) pass_edge_on(*w);
    } else if (passes_on(g.reason)) {
        auto& locks = static_cast<lock_waiter&>(*w);
        locks.pass_on(locks, served);
    } else if (g.reason == wait_reason::semaphore_acquire) {
        semaphore_wait_abandoned(*w);
    }
}

void release_abandoned(G& g) noexcept {
    if (g.never_ran()) g.entry->destroy(g.closure());
    if ((g.traits & trait::locals) != 0) (g.never_ran() ? discard_locals : forget_locals)(g.locals);
    drop_labels(g);
    if ((g.traits & trait::recorded) != 0) drop_record(g);
    if (!g.closure_is_inline()) free_closure(*g.entry, g.closure());
    static constexpr entry_type released{[](void*) {}, [](void*) noexcept {}, 0, 1};
    g.entry = &released;
    g.traits &= static_cast<uint8_t>(~trait::ends_slowly);
}

bool wait_for_external_refs(const scheduler& s, int64_t deadline_ns) noexcept {
    for (uint32_t i = 0; s.external_refs.load(acquire) != 0; ++i) {  // pairs with unpin
        if (deadline_ns != never && os::monotonic_ns() >= deadline_ns) return false;
        spin_backoff(i);
    }
    return true;
}

// Keeps stacks with contexts, which a future, stop_token or scope may still reach. Unlinks all Gs
// first, because a closure may own what another G waits for.
std::size_t abandon_gs(scheduler& s) noexcept {
    tell_acquired(&s);  // exit_g
    begin_internals();  // those that set the timers synchronize inside of the runtime
    for (uint32_t i = 0; i < s.ps.reach(); ++i) end_timers(s.ps[i].timers);
    end_internals();
    s.gs.for_each(&unlink_waiter);
    const bool alone = wait_for_external_refs(s, never);  // wakers in progress; they never wait
    WEFT_ASSERT(alone);
    std::size_t count = 0;
    s.gs.for_each([&](const G& g) { count += g.state.load(relaxed) == g_state::dead ? 0U : 1U; });  // relaxed: as below
    if (count != 0) abandoned::add(abandoned::locks);  // before closures with locked objects go
    s.gs.for_each([&](G& g) {
        if (g.state.load(relaxed_alone) == g_state::dead) return;
        if ((g.traits & trait::contexts) != 0) {
            for (const struct stack* on = g.stack; on != nullptr; on = on->continued()) s.stacks.keep(*on);
        }
        release_abandoned(g);
    });
    static_cast<void>(wait_for_external_refs(s, never));  // lend() pins s while the record exists
    return count;
}

std::size_t unlink_abandoned(scheduler& s) noexcept {
    std::size_t count = 0;
    abandoned::add(abandoned::locks | abandoned::waits);
    s.gs.for_each([&](G& g) {
        const g_state state = g.state.load(acquire);  // pairs with set_state
        if (state == g_state::waiting || state == g_state::runnable) unlink_waiter(g);
        count += state == g_state::dead ? 0U : 1U;
    });
    return count;
}

}  // namespace weft::detail
