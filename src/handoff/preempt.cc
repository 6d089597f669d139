// preempt.cc: see preempt.h, and weft/preemptible.h.
#include "handoff/preempt.h"

#include <cerrno>
#include <utility>

#include <weft/detail/hold.h>
#include <weft/go.h>
#include <weft/preemptible.h>
#include <weft/run/preempt.h>

#include "base/assert.h"
#include "context/interrupt.h"
#include "context/preempt_word.h"
#include "handoff/pin.h"
#include "handoff/retake.h"
#include "os/interrupt_signal.h"
#include "sched/schedule.h"
#include "sched/switch.h"

namespace weft {

namespace detail {

namespace {

constexpr std::size_t hook_room = 8 * 1024;
constexpr uint32_t asking_tries = 100;

// Q1. nullptr: p has no owner, or asked stays set.
M* hold_owner(P& p) noexcept {
    uintptr_t word = p.owner.load(relaxed_cas);
    for (uint32_t attempt = 0; attempt < asking_tries;) {
        if (holder_of(word) == nullptr) return nullptr;
        if ((word & attention::asked) != 0) {
            spin_backoff(attempt++);
            word = p.owner.load(relaxed_cas);
            continue;
        }
        // acq_rel: orders the askers; relaxed: tried again
        if (p.owner.compare_exchange_weak(word, word | attention::asked | attention::preempt, acq_rel, relaxed))
            return holder_of(word);
    }
    return nullptr;
}

// Q3, under threads_lock.
void call_hook_locked(M* m) noexcept {
    if (m->preempt_word != nullptr) m->preempt_word->store(~uintptr_t{0}, release);  // pairs with heed
}

// Q4.
void signal_if_open(const scheduler& s, M* m) noexcept {
    uint32_t open = signal_gate::open;
    // acq_rel: I3; relaxed: the G is not in marked code
    if (!m->signals.compare_exchange_strong(open, signal_gate::in_flight, acq_rel, relaxed)) return;
    if (!os::send_interrupt(m->tid(), s.interrupt_signal)) {
        m->signals.store(signal_gate::open, release);  // pairs with shut_gate
        return;
    }
    uint32_t in_flight = signal_gate::in_flight;
    // acq_rel: as above; relaxed: it has arrived
    m->signals.compare_exchange_strong(in_flight, signal_gate::sent, acq_rel, relaxed);
}

// True if [sp - room, sp) is part of g's own stack.
bool has_room(const G* g, uintptr_t sp, std::size_t room) noexcept {
    const auto low = reinterpret_cast<uintptr_t>(g->stack->low);
    return sp >= low + room && sp <= reinterpret_cast<uintptr_t>(g->stack->high());
}

// True if the G on m may be stopped at sp, and has not yielded since it was asked.
bool may_stop(M* m, uintptr_t sp, std::size_t room) noexcept {
    if (m->g == nullptr || m->in_runtime.load(relaxed_own) != 0 || !has_room(m->g, sp, room)) return false;
    if (static_cast<uint32_t>(m->eh->uncaught) != 0) return false;
    if (hold::covers(m->last_hold, reinterpret_cast<const void*>(sp), m->g->stack->high())) return false;  // NOLINT
    P* p = m->p;
    if (p == nullptr) return false;
    // relaxed: only we could make it name us, or not
    const bool has_p = (p->owner.load(relaxed) & ~attention::mask) == reinterpret_cast<uintptr_t>(m);
    // relaxed: the thread that stops it asks again and again
    return has_p ? slice_was_ended(m) : m->home->stopping.load(relaxed);
}

// run_preempt_hook, without saving errno.
void heed(uintptr_t sp) noexcept {
    preempt_word()->exchange(0, acquire);  // pairs with Q3, so that Q2 is seen: else a request could be lost
    M* m = current_m();
    if (m == nullptr || !may_stop(m, sp, hook_room)) return;
    yield_preempted(m, false);
}

// True if a signal to m was on its way; it has arrived.
bool receive(M* m) noexcept {
    uint32_t word = m->signals.load(relaxed_cas);
    while (word >= signal_gate::in_flight) {
        // acq_rel: I3; relaxed: the sender stores sent
        if (m->signals.compare_exchange_weak(word, signal_gate::open, acq_rel, relaxed)) return true;
    }
    return false;
}

// Runs in the signal handler.
bool on_interrupt(const os::interruption& at) noexcept {
    M* m = current_m();
    if (m == nullptr || !receive(m)) return false;
    if (may_stop(m, at.sp, interruption_room)) os::go_on_in(at, &run_interrupt_entry);
    return true;
}

}  // namespace

void request_preempt(scheduler& s, P& p) noexcept {
    M* m = hold_owner(p);  // Q1
    if (m == nullptr) return;
    m->slice_over.store(p.slice() + 1, release);  // Q2
    if (has_hooks.load(relaxed)) {                // relaxed: set before such code runs
        s.threads_lock.lock();
        call_hook_locked(m);  // Q3
        s.threads_lock.unlock();
    }
    signal_if_open(s, m);                           // Q4
    p.owner.fetch_and(~attention::asked, release);  // Q5
}

void interrupt_all(scheduler& s) noexcept {
    s.threads_lock.lock();
    for (M* m = s.all_ms; m != nullptr; m = m->all_next) {
        call_hook_locked(m);
        signal_if_open(s, m);
    }
    s.threads_lock.unlock();
}

void yield_preempted(M* m, bool by_signal) noexcept {
    // Without a P the G delays only a stop of the runtime.
    const bool has_p = enter(m);
    if (!has_p && m->home->stopping.load(relaxed)) {  // relaxed: as in may_stop
        // take_back_p fails in a stop, but its lock makes visible what was written when ours was
        // taken.
        if (!take_back_p(*m->home, m)) m = queue_for_p(m);
        leave(m);
        return;
    }
    // Not before enter(): until then the P may be taken, and its counters are its owner's.
    if (has_p) (by_signal ? m->p->count.interrupted : m->p->count.preempted).add();
    if (!has_p || !g0_may_find(*m->home, m->p)) {
        leave(m);
        return;
    }
    end_slice(m);
    keep_g(m);
    m->g->special.fetch_or(special::preempted, relaxed);  // relaxed: ours, except for frozen
    m->after.what = after_switch::kind::requeue;
    m->after.g = m->g;
    m = switch_g_to_g0(m, m->g, false);
    finish_switch(m);
    leave(m);
}

void open_gate(M* m) noexcept {
    const int signal = m->home->interrupt_signal;
    if (signal == 0) return;
    if (!m->signal_unblocked) {
        m->signal_unblocked = true;
        const int error = os::install_interrupt(signal, &on_interrupt);
        WEFT_ASSERT(error == 0);  // the number was checked before
        os::unblock_interrupt(signal);
    }
    if (m->signal_lost) [[unlikely]] {
        if (!os::interrupt_comes(signal)) return;  // G4
        m->signal_lost = false;
    }
    m->signals.store(signal_gate::open, release);  // I1
}

namespace {

// G3. The handler, if called, runs in the system call.
[[gnu::cold]] void await_sent(M* m) noexcept {
    uint32_t word = signal_gate::sent;
    // acq_rel: I1; relaxed: it has arrived
    if (!m->signals.compare_exchange_strong(word, signal_gate::awaited, acq_rel, relaxed)) return;
    static_cast<void>(os::interrupt_comes(m->home->interrupt_signal));
    word = signal_gate::awaited;
    // acq_rel: I1; relaxed: as above
    if (m->signals.compare_exchange_strong(word, signal_gate::shut, acq_rel, relaxed)) m->signal_lost = true;
}

}  // namespace

void shut_gate(M* m) noexcept {
    for (uint32_t attempt = 0;; ++attempt) {
        uint32_t word = signal_gate::open;
        // G1. acq_rel: I1; relaxed: tried again
        if (m->signals.compare_exchange_strong(word, signal_gate::shut, acq_rel, relaxed)) return;
        if (word == signal_gate::shut) return;  // no signal, or it does not arrive
        if (word == signal_gate::sent) {
            await_sent(m);
        } else {
            spin_backoff(attempt);  // G2
        }
    }
}

bool begin_interruptible(M* m) noexcept {
    G* g = m->g;
    if ((g->special.load(relaxed_own) & special::interruptible) != 0) return false;
    g->special.fetch_or(special::interruptible, relaxed);  // relaxed: ours, except for frozen
    open_gate(m);
    // A request sent no signal while the gate was shut. relaxed: the retake follows a missed one
    const uintptr_t word = m->p->owner.load(relaxed);
    const bool lost = (word & ~attention::mask) != reinterpret_cast<uintptr_t>(m);
    if (lost || (word & attention::preempt) != 0) [[unlikely]]
        yield();
    return true;
}

void end_interruptible(M* m) noexcept {
    shut_gate(m);
    m->g->special.fetch_and(static_cast<uint16_t>(~special::interruptible), relaxed);  // relaxed: as above
}

constinit atomic<bool> has_hooks{false};

bool hold::covers(const hold* last, const void* sp, const void* high) noexcept {
    // Only frames of the caller: others may be gone.
    return last > sp && last < high && last->check_ == (alive ^ reinterpret_cast<uintptr_t>(last));
}

void hold::begin() noexcept {
    M* m = current_m();
    if (m == nullptr) return;
    check_ = alive ^ reinterpret_cast<uintptr_t>(this);
    outer_ = std::exchange(m->last_hold, this);
}

void hold::end() noexcept {
    check_ = 0;
    if (M* m = current_m()) m->last_hold = outer_;  // also true of another M
}

}  // namespace detail

using namespace detail;

preemptible::preemptible() noexcept {
    M* m = current_g_m();
    began_ = m != nullptr && begin_interruptible(m);
}

preemptible::~preemptible() {
    if (began_) end_interruptible(current_g_m());
}

}  // namespace weft

using namespace weft::detail;

void run_preempt_hook(void) noexcept {
    const int kept_errno = errno;
    heed(reinterpret_cast<uintptr_t>(__builtin_frame_address(0)));
    errno = kept_errno;
}

void run_preempt_announce(void) noexcept { has_hooks.store(true, relaxed); }  // relaxed: see hold.h

void run_interrupted(void) {
    const int kept_errno = errno;
    yield_preempted(current_m(), true);
    errno = kept_errno;
}

run_status_t run_preempt_enable(void) noexcept {
    M* m = current_g_m();
    if (m != nullptr) begin_interruptible(m);
    return RUN_OK;
}

run_status_t run_preempt_disable(void) noexcept {
    M* m = current_g_m();
    if (m == nullptr) return RUN_OK;
    if ((m->g->special.load(relaxed_own) & special::interruptible) == 0) return RUN_INVALID;
    end_interruptible(m);
    return RUN_OK;
}
