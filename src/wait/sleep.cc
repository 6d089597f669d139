// sleep.cc: sleep_for and sleep_until.
//
// The lock of the P's timers is held until the G is parked. Removing the timer under it is the
// claim: docs/timers.md.
#include <weft/time.h>

#include "os/note.h"
#include "os/probe.h"
#include "sched/park.h"
#include "sched/simulation.h"
#include "sched/switch.h"
#include "wait/interrupt.h"
#include "wait/thread_note.h"

namespace weft::detail {

namespace {

// For sleeps that a context may end, and for callers without a P.
[[gnu::noinline]] void sleep_interruptibly(int64_t deadline_ns) {
    if (deadline_ns <= long_ago) return;
    wait_queue nobody;
    spin_lock lock;
    waiter me;
    lock.lock();
    const wait_result result = wait_cancellable(
        lock, {.me = me, .queue = nobody, .bits = 0, .reason = wait_reason::sleep, .deadline_ns = deadline_ns});
    WEFT_ASSERT(result != wait_result::served);
    if (result != wait_result::timed_out) throw_interrupted(result);
}

}  // namespace

void sleep_until_ns(int64_t deadline_ns) WEFT_NO_THREAD_SAFETY_ANALYSIS {  // the next context releases the timers' lock
    M* m = current_g_m();
    if (heeded_context(m) != nullptr || stop_reaches(m)) [[unlikely]] {
        sleep_interruptibly(deadline_ns);
        return;
    }
    if (m == nullptr) {
        const thread_note_use use;
        use.mine.wakeup.reset();
        while (os::monotonic_ns() < deadline_ns) use.mine.wakeup.sleep(deadline_ns);
        return;
    }
    if (!enter(m)) [[unlikely]] {
        leave(m);
        sleep_interruptibly(deadline_ns);
        return;
    }
    P* p = m->p;
    p->now_ns = clock_ns();
    if (deadline_ns <= p->now_ns) {
        leave(m);
        return;
    }
    waiter me;
    timer alarm;
    me.g = m->g;
    me.lock = nullptr;  // in no queue but the timers
    me.slot = &alarm;   // for ending all waits: stopping.h
    alarm.deadline_ns = deadline_ns;
    alarm.who = &me;
    m->g->waiting = &me;
    m->g->reason = wait_reason::sleep;
    m->g->since_ns = p->now_ns;
    m->g->last_p = static_cast<uint16_t>(p->index);
    p->timers.lock.lock();
    if (deadline_ns != never) {
        p->timers.add_locked(alarm, p->now_ns);
        leaves_timer();
    }
    p->count.parks.add();
    WEFT_PROBE3(park, m->g->id, static_cast<uint8_t>(m->g->reason), me.lock);
    m->after = {after_switch::kind::park, 0, {p->timers.lock.hand_over()}, nullptr, m->g};
    m = switch_away(m);
    m->g->waiting = nullptr;
    leave(m);
    if (me.claim != nullptr) [[unlikely]]
        throw_interrupted(wait_result::cancelled);
}

}  // namespace weft::detail
