// stopping.cc: see stopping.h.
#include "lifecycle/stopping.h"

#include <algorithm>

#include <weft/detail/cancel.h>
#include <weft/time.h>

#include "base/abandoned.h"
#include "base/assert.h"
#include "lifecycle/abandon.h"
#include "lifecycle/crash.h"
#include "lifecycle/start.h"
#include "os/os.h"
#include "sched/freeze.h"
#include "sched/park.h"
#include "sched/scheduler.h"
#include "sched/switch.h"
#include "stack/read_frames.h"

namespace weft::detail {

constinit claim_word cancelled_by_stop;

namespace {

constexpr uint32_t batch_size = 128;            // Gs per heavy fence
constexpr int lock_tries = 100;                 // for an object's lock
constexpr int64_t shortest_pause_ns = 100'000;  // between rounds; a pause is at least as long as its round
constexpr int frames_of_straggler = 32;

bool is_cancellation_point(wait_reason reason) noexcept {
    switch (reason) {
        case wait_reason::chan_receive:
        case wait_reason::chan_send:
        case wait_reason::chan_receive_nil:
        case wait_reason::chan_send_nil:
        case wait_reason::future_get:
        case wait_reason::sleep:
        case wait_reason::select:
        case wait_reason::select_no_cases:
        case wait_reason::condition_wait:
        case wait_reason::semaphore_acquire:
        case wait_reason::event_wait:
        case wait_reason::single_flight:
        case wait_reason::fd_readable:
        case wait_reason::fd_writable:
        case wait_reason::select_fd:
        case wait_reason::process_end:
            return true;
        default:
            return false;
    }
}

// Cancellation points only with a deadline (try_lock_for), and only then with a claim word.
bool is_point_with_deadline(wait_reason reason) noexcept {
    switch (reason) {
        case wait_reason::mutex_lock:
        case wait_reason::shared_mutex_lock:
        case wait_reason::shared_mutex_lock_shared:
        case wait_reason::latch_wait:
        case wait_reason::wait_group_wait:
            return true;
        default:
            return false;
    }
}

// First called while g may run, then when it is frozen.
WEFT_NO_SANITIZE bool may_be_cancelled(const G& g) noexcept {
    if (g.state.load(acquire) != g_state::waiting || g.never_ran()) return false;  // pairs with set_state
    if (!is_cancellation_point(g.reason) && !is_point_with_deadline(g.reason)) return false;
    const bool shielded = (g.traits & trait::ambient) != 0 && g.ambient == shield_context();
    return !shielded && static_cast<uint32_t>(g.eh.uncaught) == 0;
}

// Step 2: g has no context, so its waits would not check.
WEFT_NO_SANITIZE bool is_untold(const G& g) noexcept {
    const g_state state = g.state.load(acquire);  // pairs with set_state
    return (state == g_state::waiting || state == g_state::runnable) && (g.traits & trait::ambient) == 0;
}

bool try_lock_bits(guarded_word& lock, uint32_t& bits) noexcept
    WEFT_TRY_ACQUIRE(true, lock) WEFT_NO_THREAD_SAFETY_ANALYSIS {
    for (int i = 0; i < lock_tries; ++i) {
        uint32_t seen = lock.word().load(relaxed_cas);
        if ((seen & guarded_word::guard) == 0 &&
            lock.word().compare_exchange_strong(seen, seen | guarded_word::guard, acquire, relaxed)) {  // as lock_bits
            bits = seen;
            return true;
        }
        os::cpu_relax();
    }
    return false;
}

// Requires: only w's queue may end its wait.
bool unlink_if_free(waiter& w) noexcept {
    if (w.queue.peek() == nullptr) return false;  // it is being served
    uint32_t bits = 0;
    if (!try_lock_bits(*w.lock, bits)) return false;
    const bool ours = w.queue != nullptr;
    if (ours) w.queue->remove(w);
    w.lock->unlock_bits(bits);
    return ours;
}

// w is a sleep's; slot is the timer that ends it. A P that is retired moves its timers to another.
bool remove_alarm_if_free(waiter& w) noexcept {
    auto& alarm = *static_cast<timer*>(w.slot);
    if (alarm.deadline_ns == never) return true;  // nothing else ends it
    timer_queue& queue = *alarm.home.load(relaxed_hint);
    uint32_t none = 0;
    if (!try_lock_bits(queue.lock, none)) return false;
    const bool ours = alarm.home.load(relaxed_locked) == &queue && alarm.queued;
    if (ours) queue.remove_locked(alarm);
    queue.lock.unlock();
    return ours;
}

}  // namespace

// Steps 2 and 3 for g, which is frozen.
WEFT_NO_SANITIZE ended_wait end_wait_of(G& g) noexcept {
    tell_acquired(&g.since_ns);  // tell_leaving
    if (is_untold(g)) {
        g.ambient = stop_context();
        g.traits |= trait::ambient;
    }
    if (!may_be_cancelled(g)) return ended_wait::none;
    waiter* w = g.waiting;
    if (w == nullptr || w->claim == &cancelled_by_stop) return ended_wait::none;
    if (w->claim != nullptr) {
        bool must_ready = false;
        if (!w->claim->try_claim(claimed_by::cancellation, must_ready)) return ended_wait::none;
        return must_ready ? ended_wait::unlinked : ended_wait::claimed;
    }
    if (!is_cancellation_point(g.reason)) return ended_wait::none;
    if (!(w->lock == nullptr ? remove_alarm_if_free(*w) : unlink_if_free(*w))) return ended_wait::none;
    w->claim = &cancelled_by_stop;
    return ended_wait::unlinked;
}

namespace {

class batch {
public:
    void add(G& g) noexcept {
        gs_[count_++] = &g;
        if (count_ == batch_size) cancel();
    }

    void cancel() noexcept {
        if (count_ == 0) return;
        uint32_t unlinked = 0;
        freezing.lock();
        freeze_locked(gs_, count_);
        for (uint32_t i = 0; i < count_; ++i) {
            G* g = gs_[i];
            const ended_wait o = end_wait_of(*g);
            if (o != ended_wait::none) ++cancelled;
            thaw(*g);
            if (o == ended_wait::unlinked) gs_[unlinked++] = g;
        }
        freezing.unlock();
        count_ = 0;
        for (uint32_t i = 0; i < unlinked; ++i) ready_g_outside(gs_[i]);
    }

    std::size_t cancelled = 0;

private:
    uint32_t count_ = 0;
    G* gs_[batch_size];
};

}  // namespace

void pause_until_ns(int64_t until_ns) {
    const ambient_scope not_interrupted(shield_context(), false);
    sleep_until_ns(until_ns);
}

uint64_t finished_gs(const scheduler& s) noexcept {
    tell_acquired(&s);                                  // exit_g
    uint64_t finished = s.external_ends.load(acquire);  // pairs with the ends: what is read next was there before
    for (uint32_t i = 0; i < s.ps.made(); ++i) finished += s.ps[i].count.finished.get_acquire();
    return finished;
}

uint64_t live_gs(const scheduler& s) noexcept {
    const uint64_t finished = finished_gs(s);
    uint64_t spawned = s.external_spawns.load(acquire);  // after the sum above
    for (uint32_t i = 0; i < s.ps.made(); ++i) spawned += s.ps[i].count.spawned.get();
    return spawned - finished;
}

std::size_t cancel_waits(scheduler& s, const G* self) noexcept {
    batch b;
    s.gs.for_each([&](G& g) {
        if (&g != self && (is_untold(g) || may_be_cancelled(g))) b.add(g);
    });
    b.cancel();
    return b.cancelled;
}

std::size_t cancel_and_drain(scheduler& s, const G* self, int64_t deadline_ns) {
    const uint64_t left = self == nullptr ? 0 : 1;
    std::size_t cancelled = 0;
    s.cancelling.store(true, release);  // pairs with throw_interrupted
    while (live_gs(s) > left) {
        const int64_t began_ns = os::monotonic_ns();
        if (began_ns >= deadline_ns) break;
        cancelled += cancel_waits(s, self);
        const int64_t now_ns = os::monotonic_ns();
        pause_until_ns(std::min(deadline_ns, now_ns + std::max(shortest_pause_ns, now_ns - began_ns)));
    }
    return cancelled;
}

namespace {

// m's G, as other threads see it.
struct straggler {
    G* g;
    bool in_call;
};

WEFT_NO_SANITIZE straggler straggler_on(const M& m) noexcept {
    if (G* g = __atomic_load_n(&m.lent_by, __ATOMIC_ACQUIRE)) return {g, true};
    return {__atomic_load_n(&m.g, __ATOMIC_ACQUIRE), false};
}

// A blocking call keeps g's frames unchanged.
WEFT_NO_SANITIZE void print_call_frames(report& out, G* g) noexcept {
    const void* pcs[frames_of_straggler];
    int count = 0;
    freezing.lock();
    freeze_locked(&g, 1);
    const bool still = g->state.load(acquire) == g_state::in_call;  // pairs with set_state
    if (still) count = read_frames(g->context.pc, g->context.fp, g->context.sp, *g->stack, pcs, frames_of_straggler);
    thaw(*g);
    freezing.unlock();
    out.frames(pcs, count, {.cut = count == frames_of_straggler});
}

WEFT_NO_SANITIZE void print_straggler(report& out, const M& m) noexcept {
    const straggler who = straggler_on(m);
    if (who.g == nullptr) {
        out.print("weft: thread %d, which runs no green thread\n", m.tid());
        return;
    }
    out.print("weft: ");
    print_identity(out, *who.g);
    const int64_t ms = (os::monotonic_ns() - who.g->since_ns) / 1'000'000;
    out.print(" on thread %d, which %s; last queued %lld ms ago\n", m.tid(),
              who.in_call                     ? "is in a blocking call"
              : os::thread_wants_cpu(m.tid()) ? "computes"
                                              : "is blocked",
              static_cast<long long>(ms));
    if (who.in_call) {
        print_call_frames(out, who.g);
    } else {
        out.print("    (running; another thread cannot read its stack)\n");
    }
}

}  // namespace

bool has_stragglers(scheduler& s) noexcept {
    s.threads_lock.lock();
    const M* m = s.all_ms;
    // acquire: pairs with m_thread
    while (m != nullptr && (m->is_main || m->has_ended.load(acquire) || straggler_on(*m).g == nullptr)) m = m->all_next;
    s.threads_lock.unlock();
    return m != nullptr;
}

std::size_t leave_stragglers(scheduler& s, std::size_t& abandoned) noexcept {
    std::size_t count = 0;
    report out(os::stderr_fd, report::patience::little);  // the caller has a deadline
    out.print("weft: runtime \"%s\" has stopped, but some of its threads have not ended:\n", s.name.c_str());
    s.threads_lock.lock();
    for (const M* m = s.all_ms; m != nullptr; m = m->all_next) {
        if (m->is_main || m->has_ended.load(acquire)) continue;  // pairs with m_thread
        ++count;
        print_straggler(out, *m);
    }
    s.threads_lock.unlock();
    if (s.sysmon.is_left()) {
        ++count;
        out.print("weft: thread %d, its monitor%s\n", s.sysmon.tid(),
                  s.sysmon.reports() ? ", which is writing a report" : "");
    }
    if (count == 0) {
        // acquire: pairs with unpin
        out.print(s.external_refs.load(acquire) != 0 ? "weft: a plain thread that is in a call of this runtime\n"
                                                     : "weft: the last of them has ended in the meantime\n");
    }
    out.print("weft: the memory of the runtime is not freed, because a thread may still use it\n");
    abandoned = unlink_abandoned(s);
    return std::max<std::size_t>(count, 1);
}

}  // namespace weft::detail
