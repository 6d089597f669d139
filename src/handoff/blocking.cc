// blocking.cc: see weft/blocking.h and blocking.h.
#include "handoff/blocking.h"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <stdexcept>
#include <utility>

#include <weft/detail/cancel.h>

#include "base/assert.h"
#include "context/call_on_stack.h"
#include "handoff/preempt.h"
#include "handoff/retake.h"
#include "os/os.h"
#include "sched/scheduler.h"
#include "sched/simulation.h"
#include "sched/switch.h"

namespace weft {

namespace detail {

namespace {

// Longer calls are worth a hand-off, which costs the caller 5 to 10 µs (docs/blocking.md).
constexpr uint32_t long_ns = 50'000;
constexpr uint64_t sample_every = 1024;  // calls of an M for each one timed at a short site
constexpr std::size_t below_g0 = 256;    // kept clear below g0's last frame: above any ABI's red zone

bool is_long(const call_site& site) noexcept {
    return site.typical_ns.load(relaxed) >= long_ns;  // relaxed: a guess
}

// 0, for unknown, becomes the largest.
bool is_long_or_unknown(const call_site& site) noexcept {
    return site.typical_ns.load(relaxed) - 1 >= long_ns - 1;  // relaxed: as above
}

// One of two concurrent updates is lost.
[[gnu::noinline]] void learn(call_site& site, int64_t taken_ns) noexcept {
    const int64_t known_ns = site.typical_ns.load(relaxed);  // relaxed: as above
    const int64_t capped_ns = std::clamp<int64_t>(taken_ns, 1, 1'000'000'000);
    // The first call may be long because it is the first: it counts as just long.
    const int64_t next_ns =
        known_ns == 0 ? std::min<int64_t>(capped_ns, long_ns) : known_ns + (capped_ns - known_ns) / 4;
    site.typical_ns.store(static_cast<uint32_t>(next_ns), relaxed);  // relaxed: as above
}

// Hands off the P if that pays. Returns the time.
[[gnu::noinline]] int64_t prepare_special(M* m, const call_site& site, hand_off when) noexcept {
    if (m->home->simulated != nullptr) return os::monotonic_ns();  // S1 of simulation.h
    if (when == hand_off::at_once || (when == hand_off::learned && is_long(site))) leave_p_to_others(*m->home, m);
    return os::monotonic_ns();
}

[[gnu::always_inline]] inline bool is_prepared_specially(const M* m, const call_site& site, hand_off when) noexcept {
    const bool sampled = m->calls.load(relaxed_own) % sample_every == 0;
    return sampled || when == hand_off::at_once || (when == hand_off::learned && is_long_or_unknown(site));
}

// Returns the M on which the G resumes.
[[gnu::noinline]] M* take_place(M* m) noexcept {
    scheduler& s = *m->home;
    if (!s.call_permits->try_acquire()) {
        const ambient_scope not_interrupted(shield_context(), false);
        s.call_permits->acquire();
    }
    m = current_g_m();
    m->has_place = true;
    return m;
}

[[gnu::noinline]] void give_place_back(M* m) noexcept {
    const int kept_errno = errno;  // the call's; making a waiter's thread may change it
    m->has_place = false;
    m->home->call_permits->release();
    errno = kept_errno;
}

// True if m's gate must be shut in the call, or the signal would end its system calls (preempt.h).
bool has_gate(const G* g) noexcept { return (g->special.load(relaxed_own) & special::interruptible) != 0; }

bool is_traced(const G* g) noexcept { return (g->special.load(relaxed_hint) & special::traced) != 0; }

bool takes_special_calls(const G* g) noexcept {
    return (g->special.load(relaxed_own) & (special::interruptible | special::traced | special::shuffled)) != 0;
}

// Makes m a plain thread. at: the call's caller, for dumps; its frames do not change.
[[gnu::always_inline]] inline void lend(M* m, G* g, const run_context_t& at) noexcept {
    g->context = at;
    m->calls.store(m->calls.load(relaxed_own) + 1, relaxed_own);
    m->in_call.store(true, relaxed_hint);
    m->lent_by = g;
    m->g = nullptr;
    g->set_state(g_state::running, g_state::in_call);
}

[[gnu::always_inline]] inline bool begins_simply(const M* m,
                                                 const G* g,
                                                 const call_site& site,
                                                 hand_off when) noexcept {
    return !is_prepared_specially(m, site, when) && !m->home->threads_scarce.load(relaxed_hint) &&
           !takes_special_calls(g) && (g->traits & trait::ambient) == 0;
}

// at: as for lend. Returns the caller's M, which take_place may change. nullptr: a simulation has
// no other thread, so the call is one of the green thread, and so are waits in it.
[[gnu::noinline]] M* begin_specially(
    open_call& call, M* m, const call_site& site, hand_off when, const run_context_t& at) noexcept {
    if (current_simulation() != nullptr) {
        call.m = nullptr;
        return nullptr;
    }
    if (m->home->threads_scarce.load(relaxed_hint)) m = take_place(m);
    G* g = m->g;
    call = {m, 0, nullptr, nullptr};
    if (is_traced(g)) record_event(m, event_kind::call, 0, g->id, 0);
    if (is_prepared_specially(m, site, when)) call.began_ns = prepare_special(m, site, when);
    if (has_gate(g)) shut_gate(m);
    lend(m, g, at);
    // The caller's context ends waits in the call.
    if ((g->traits & trait::ambient) != 0) call.context_before = exchange_ambient(g->ambient, false);
    return m;
}

// The G resumes on m, with or without a P. False: await_or_give_back must follow.
[[gnu::always_inline]] [[nodiscard]] inline bool take_back(M* m) noexcept {
    G* g = std::exchange(m->lent_by, nullptr);
    m->g = g;
    m->in_call.store(false, relaxed);           // relaxed: as in lend
    g->state.store(g_state::running, relaxed);  // relaxed: dumps pair by heavy fence, as in a switch
    compiler_fence();
    return g->special.load(acquire) == 0 && !m->has_place;  // acquire: as in hand_m_over
}

// The place first: the G may be interrupted once the gate is open, the runtime must not be.
void await_or_give_back(M* m) noexcept {
    await_thaw(m->g, g_state::in_call);
    if (is_traced(m->g)) record_event(m, event_kind::call_over, 0, m->g->id, 0);
    if (m->has_place) give_place_back(m);
    if (has_gate(m->g)) open_gate(m);
}

[[gnu::noinline]] void set_errno(int value) noexcept { errno = value; }

// A call that lost the P was long, unless the whole slice was over. errno moves with the G.
[[gnu::noinline]] void get_p_again(M* m, call_site& site, int64_t began_ns) noexcept {
    const int kept_errno = errno;
    const bool stays = take_back_p(*m->home, m);
    if (began_ns == 0 && !m->overran) learn(site, int64_t{2} * long_ns);  // overran: as in queue_for_p
    if (!stays) m = queue_for_p(m);
    leave(m);
    set_errno(kept_errno);
}

// True if m has its P, without attention bits; else find_p must follow. No field of the P is used
// here, so a later retake does not matter.
bool has_p_still(const M* m) noexcept {
    return m->p->owner.load(relaxed) == reinterpret_cast<uintptr_t>(m);  // relaxed: as above
}

[[gnu::noinline]] void find_p(M* m, call_site& site, int64_t began_ns) noexcept {
    if (enter(m)) {
        leave(m);
    } else {
        get_p_again(m, site, began_ns);
    }
}

// As end_blocking; also follows a false take_back.
[[gnu::noinline]] void end_specially(const open_call& call, call_site& site) noexcept {
    M* m = call.m;
    if (m->lent_by != nullptr) {
        if (call.began_ns != 0) learn(site, os::monotonic_ns() - call.began_ns);
        if ((m->lent_by->traits & trait::ambient) != 0) exchange_ambient(call.context_before, false);
        if (!take_back(m)) await_or_give_back(m);
    } else {
        await_or_give_back(m);
    }
    if (!has_p_still(m)) find_p(m, site, call.began_ns);
}

// A call on g0's stack, for sanitizers.
struct call_on_g0 {
    M* m;
    fiber* caller;
    void (*function)(void*) noexcept;
    void* argument;

    WEFT_NO_SANITIZE static void run(void* self) noexcept {
        const auto& call = *static_cast<call_on_g0*>(self);
        arrive_on_stack(call.m->g0_fiber);
        call.function(call.argument);
        leave_stack_for_call(call.m->g0_fiber, *call.caller);
    }
};

// A call's frames begin below those of g0.
void* top_for_call(const M* m) noexcept {
    const auto top = reinterpret_cast<uintptr_t>(m->g0.sp) - below_g0;
    return reinterpret_cast<void*>(top & ~uintptr_t{15});
}

WEFT_SWITCH_PIECE void run_on_g0(M* m, void (*function)(void*) noexcept, void* argument) {
    if (!sanitized) {
        run_call_on_stack(top_for_call(m), function, argument);
        return;
    }
    call_on_g0 call{m, &m->lent_by->stack->sanitizers, function, argument};
    leave_stack_for_call(*call.caller, m->g0_fiber);  // TSan's fiber is the G's on any stack
    run_call_on_stack(top_for_call(m), &call_on_g0::run, &call);
    arrive_on_stack(*call.caller);
}

}  // namespace

// This and the next are not inlined: find_caller. This and end_blocking are aligned, because a
// system call evicts decoded and predicted code, so each cache line of it counts.
[[gnu::noinline, gnu::aligned(64)]] void begin_blocking(open_call& call, const call_site& site, hand_off when) {
    M* m = current_g_m();
    call = {m, 0, nullptr, nullptr};
    if (m == nullptr) return;
    G* g = m->g;
    if (begins_simply(m, g, site, when)) [[likely]] {
        lend(m, g, find_caller());
    } else {
        m = begin_specially(call, m, site, when, find_caller());
        if (m == nullptr) return;
    }
    if (!sanitized) call.top = top_for_call(m);
}

[[gnu::noinline]] void make_blocking(const open_call& call, void (*function)(void*) noexcept, void* argument) {
    if (call.m == nullptr) {
        function(argument);
    } else {
        run_on_g0(call.m, function, argument);
    }
}

void begin_blocking(open_call& call, const call_site& site, hand_off when, const run_context_t& at) noexcept {
    M* m = current_g_m();
    call = {m, 0, nullptr, nullptr};
    if (m != nullptr) begin_specially(call, m, site, when, at);
}

[[gnu::aligned(64)]] void end_blocking(const open_call& call, call_site& site) noexcept {
    M* m = call.m;
    if (m == nullptr) return;
    if (m != current_m()) {
        exchange_ambient(call.context_before, false);  // the caller is the child of a fork in the call
        return;
    }
    if (call.began_ns == 0 && (m->lent_by->traits & trait::ambient) == 0 && take_back(m)) [[likely]] {
        if (!has_p_still(m)) find_p(m, site, 0);
    } else {
        end_specially(call, site);
    }
}

const G* lender_of(const M* m) noexcept { return m == nullptr ? nullptr : m->lent_by; }

}  // namespace detail

blocking_pool::blocking_pool(std::string name, std::ptrdiff_t cap)
    : name_(std::move(name)), cap_(cap), free_(cap < 1 ? 1 : cap) {
    if (cap < 1)
        throw std::invalid_argument("weft: the cap of blocking_pool \"" + name_ + "\" is " + std::to_string(cap) +
                                    "; it must be 1 or more");
}

blocking_pool::place::place(blocking_pool& pool) : pool_(pool) {
    using detail::relaxed;
    if (!pool_.free_.try_acquire()) {
        const counted waits(pool_.waiting_);
        pool_.free_.acquire();
    }
    pool_.running_.fetch_add(1, detail::relaxed_count);
}

blocking_pool::place::~place() {
    pool_.running_.fetch_sub(1, detail::relaxed_count);
    pool_.free_.release();
}

}  // namespace weft
