// select.cc: chooses among cases, and waits for one of several. See weft/detail/select_case.h.
#include <algorithm>
#include <utility>

#include <weft/detail/hold.h>
#include <weft/detail/select_case.h>
#include <weft/detail/step.h>
#include <weft/detail/time_point.h>
#include <weft/select.h>

#include "base/assert.h"
#include "os/os.h"
#include "sched/random.h"
#include "sched/switch.h"
#include "wait/interrupt.h"
#include "wait/thread_note.h"

namespace weft::detail {

namespace {

// The lock order (L7).
uintptr_t address(const guarded_word* lock) noexcept { return reinterpret_cast<uintptr_t>(lock); }

// Up to this many, insertion beats a general sort.
constexpr std::size_t few_locks = 16;

bool seems_ready(const select_case& c) noexcept { return c.object != nullptr && c.ops->seems_ready(c); }

bool try_case(select_case& c) noexcept {
    c.partner = nullptr;
    const hold held;  // begin moves a value
    const uint32_t bits = c.lock->lock_bits();
    const bool done = c.ops->begin(c, bits);
    c.lock->unlock_bits(bits);
    if (done && c.partner != nullptr) c.ops->finish(c);
    return done;
}

// One of n cases that seemed ready, each equally likely, of which the first is given.
[[gnu::noinline]] std::size_t one_of_ready(M* m, const select_request& r, std::size_t first, uint32_t n) noexcept {
    uint32_t before = random_below(m, n);
    std::size_t chosen = first;
    for (std::size_t i = first + 1; before != 0 && i < r.count; ++i) {
        if (!seems_ready(r.cases[i])) continue;
        chosen = i;
        --before;
    }
    return chosen;
}

// First pass. Counts in ready what seems ready.
std::size_t try_one_by_one(M* m, const select_request& r, std::size_t& ready) noexcept {
    std::size_t chosen = no_case;
    for (std::size_t i = 0; i < r.count; ++i) {
        if (seems_ready(r.cases[i]) && ++ready == 1) chosen = i;
    }
    if (ready == 0) return no_case;
    if (ready != 1 && !r.in_order) chosen = one_of_ready(m, r, chosen, static_cast<uint32_t>(ready));
    std::size_t i = chosen;
    bool done = try_case(r.cases[i]);
    while (!done) {
        if (++i == r.count) i = 0;
        if (i == chosen) return no_case;
        done = seems_ready(r.cases[i]) && try_case(r.cases[i]);
    }
    return i;
}

bool objects_below_two(const select_request& r) noexcept {
    std::size_t n = 0;
    for (std::size_t i = 0; i < r.count; ++i) n += r.cases[i].object != nullptr ? 1U : 0U;
    return n < 2;
}

void lock_all(select_request& r) noexcept WEFT_NO_THREAD_SAFETY_ANALYSIS {
    for (std::size_t i = 0; i < r.sorted_locks; ++i) r.locks[i].bits = r.locks[i].lock->lock_bits();
}

void unlock_all(const select_request& r) noexcept WEFT_NO_THREAD_SAFETY_ANALYSIS {
    for (std::size_t i = 0; i < r.sorted_locks; ++i) r.locks[i].lock->unlock_bits(r.locks[i].bits);
}

held_lock& lock_of(const select_request& r, const guarded_word* lock) noexcept {
    if (r.sorted_locks <= few_locks) {
        held_lock* h = r.locks;
        while (h->lock != lock) ++h;
        return *h;
    }
    return *std::lower_bound(r.locks, r.locks + r.sorted_locks, lock,
                             [](const held_lock& a, const guarded_word* b) { return address(a.lock) < address(b); });
}

// Second pass, with all locks held, so at one instant. Frees them on success.
std::size_t try_all(M* m, select_request& r) noexcept {
    const hold held;  // as above
    const std::size_t from = r.in_order || r.count < 2 ? 0 : random_below(m, static_cast<uint32_t>(r.count));
    for (std::size_t k = 0; k < r.count; ++k) {
        const std::size_t i = from + k < r.count ? from + k : from + k - r.count;
        select_case& c = r.cases[i];
        if (c.object == nullptr) continue;
        c.partner = nullptr;
        if (!c.ops->begin(c, c.lock->held_bits())) continue;
        unlock_all(r);
        if (c.partner != nullptr) c.ops->finish(c);
        return i;
    }
    return no_case;
}

// Links n waiters from first on into their queues, in random order.
void link_at_random(M* m, const select_request& r, waiter* first, std::size_t n) noexcept {
    std::size_t at = 0;
    for (waiter* w = first; w != nullptr; w = w->also) r.cases[at++].partner = w;
    while (n-- != 0) {
        const std::size_t next = random_below(m, static_cast<uint32_t>(n + 1));
        waiter* w = std::exchange(r.cases[next].partner, r.cases[n].partner);
        r.cases[w->which].queue->push_back(*w);
    }
}

// Links a waiter per case and returns the first. All locks are held.
waiter* link_all(M* m, select_request& r, claim_word& claim, G* g, thread_note* note) noexcept {
    waiter* first = nullptr;
    std::size_t n = 0;
    for (std::size_t i = r.count; i-- != 0;) {
        select_case& c = r.cases[i];
        if (c.object == nullptr) continue;
        c.w.g = g;
        c.w.note = note;
        c.w.claim = &claim;
        c.w.which = static_cast<uint32_t>(i);
        c.w.also = first;
        c.w.ok = false;
        c.w.lock = c.lock;
        first = &c.w;
        ++n;
        if (c.ops->waiting_bits != 0) lock_of(r, c.lock).bits |= c.ops->waiting_bits;
    }
    if (n > r.sorted_locks && !r.in_order) {
        // Of a channel's cases, the one linked first is served, so this is a choice.
        link_at_random(m, r, first, n);
    } else {
        for (waiter* w = first; w != nullptr; w = w->also) r.cases[w->which].queue->push_back(*w);
    }
    return first;
}

// L4. The claimer unlinked the winner.
void unlink_others(const select_request& r, uint32_t winner) noexcept {
    for (std::size_t i = 0; i < r.count; ++i) {
        select_case& c = r.cases[i];
        if (c.object == nullptr || i == winner) continue;
        const uint32_t bits = c.lock->lock_bits();
        if (c.w.queue != nullptr) c.w.queue->remove(c.w);
        c.lock->unlock_bits(bits);
    }
}

// Returns the winner. All locks are held.
uint32_t wait_for_any(M* m,
                      select_request& r,
                      cancel_context* context,
                      int64_t deadline_ns) noexcept WEFT_NO_THREAD_SAFETY_ANALYSIS {
    claim_word claim;
    cancel_wait cancelled{&claim, m == nullptr ? nullptr : m->g, nullptr, nullptr};
    const other_parties others{deadline_ns, context, &cancelled};
    // Without possible cases there is no queue: use a private one.
    select_case alone;
    spin_lock alone_lock;
    wait_queue alone_queue;
    held_lock alone_held{&alone_lock, 0};
    select_request only{.cases = &alone, .count = 1, .locks = &alone_held, .sorted_locks = 1};
    const bool has_queue = r.sorted_locks != 0;
    if (!has_queue) {
        static constexpr select_ops no_ops{nullptr, nullptr, nullptr, 0};
        alone.object = &alone;
        alone.ops = &no_ops;
        alone.lock = &alone_lock;
        alone.queue = &alone_queue;
        alone_lock.lock();
    }
    select_request& linked = has_queue ? r : only;
    const wait_reason reason = r.count == 0        ? wait_reason::select_no_cases
                               : r.waits_for_files ? wait_reason::select_fd
                                                   : wait_reason::select;
    uint32_t winner = claimed_by::cancellation;
    const auto locks = static_cast<uint32_t>(linked.sorted_locks);
    if (m != nullptr) {
        if (context != nullptr && !context->enter_wait(cancelled)) {
            unlock_all(linked);
            return winner;
        }
        waiter* first = link_all(m, linked, claim, m->g, nullptr);
        winner = wait_claimed(m, *first, linked.locks, locks, reason, others);
    } else {
        const thread_note_use use;
        cancelled.note = &use.mine;
        use.mine.wakeup.reset();
        const bool parked = claim.publish_parked();
        WEFT_ASSERT(parked);
        if (context != nullptr && !context->enter_wait(cancelled)) {
            unlock_all(linked);
            return winner;
        }
        link_all(nullptr, linked, claim, nullptr, &use.mine);
        winner = thread_wait_claimed(use.mine, claim, linked.locks, locks, others);
    }
    unlink_others(linked, winner);
    return winner;
}

count_word& count_of(const select_case& c) noexcept { return *static_cast<count_word*>(c.object); }

}  // namespace

const select_ops count_select_case::ops{
    [](const select_case& c) noexcept { return count_of(c).is_zero(); },
    [](select_case& /*c*/, uint32_t bits) noexcept { return count_word::is_zero(bits); },
    nullptr,
    count_word::waiting_bit,
};

void count_select_case::prepare(select_case& c, count_word& count) noexcept {
    c.ops = &ops;
    c.object = &count;
    c.lock = &count.lock_word();
    c.queue = &count.waiters();
}

const select_ops event_case::ops{
    [](const select_case& c) noexcept {
        return (static_cast<event_core*>(c.object)->word.word().load(relaxed_hint) & event_core::set) != 0;
    },
    [](select_case& /*c*/, uint32_t bits) noexcept { return (bits & event_core::set) != 0; },
    nullptr,
    event_core::waiting,
};

void event_case::prepare(select_case& c, event_core& e) noexcept {
    c.ops = &ops;
    c.object = &e;
    c.lock = &e.word;
    c.queue = &e.waiters;
}

void sort_locks(select_request& r) noexcept {
    std::size_t n = 0;
    if (r.count <= few_locks) {
        for (std::size_t i = 0; i < r.count; ++i) {
            if (r.cases[i].object == nullptr) continue;
            guarded_word* lock = r.cases[i].lock;
            std::size_t at = n;
            while (at != 0 && address(lock) < address(r.locks[at - 1].lock)) --at;
            if (at != 0 && r.locks[at - 1].lock == lock) continue;
            for (std::size_t k = n++; k != at; --k) r.locks[k] = r.locks[k - 1];
            r.locks[at].lock = lock;
        }
    } else {
        for (std::size_t i = 0; i < r.count; ++i) {
            if (r.cases[i].object != nullptr) r.locks[n++].lock = r.cases[i].lock;
        }
        const auto before = [](const held_lock& a, const held_lock& b) { return address(a.lock) < address(b.lock); };
        std::sort(r.locks, r.locks + n, before);
        const auto same = [](const held_lock& a, const held_lock& b) { return a.lock == b.lock; };
        n = static_cast<std::size_t>(std::unique(r.locks, r.locks + n, same) - r.locks);
    }
    r.sorted_locks = n;
}

namespace {

// Not inlined: a select that need not wait saves no registers.
[[gnu::noinline]] std::size_t look_again_and_wait(M* m, select_request& r) {
    if (r.sorted_locks == 0) sort_locks(r);
    lock_all(r);
    const std::size_t done = try_all(m, r);
    if (done != no_case) return done;
    if (r.otherwise_case != no_case) {
        unlock_all(r);
        return r.otherwise_case;
    }
    if (r.deadline_ns <= long_ago) {
        unlock_all(r);
        return r.deadline_case;
    }
    cancel_context* context = heeded_context(m);
    int64_t deadline_ns = r.deadline_ns;
    const bool ambient_is_first = context != nullptr && context->deadline_ns() < deadline_ns;
    if (ambient_is_first) deadline_ns = context->deadline_ns();

    uint32_t winner = claimed_by::cancellation;
    if (stop_reaches(m)) {
        unlock_all(r);
    } else {
        winner = wait_for_any(m, r, context, deadline_ns);
    }
    if (winner < r.count) return winner;
    if (winner == claimed_by::deadline && !ambient_is_first) return r.deadline_case;
    const wait_result why = winner == claimed_by::deadline ? wait_result::expired : wait_result::cancelled;
    tell_tokens_of(context, why);
    if (r.cancel_case == no_case) throw_interrupted(why);
    return r.cancel_case;
}

bool is_confirmed(const select_request& r, std::size_t done) noexcept {
    if (done >= r.count) return true;
    select_case& c = r.cases[done];
    return c.object == nullptr || c.ops->confirm == nullptr || c.ops->confirm(c);
}

std::size_t select_one(select_request& r) {
    for (;;) {
        M* m = current_g_m();
        std::size_t ready = 0;
        std::size_t done = try_one_by_one(m, r, ready);
        if (done != no_case) return done;
        // One object that was not ready proves that nothing could happen then. Of several, each may
        // have been ready while another was checked.
        if (r.otherwise_case != no_case && ready == 0 && objects_below_two(r)) return r.otherwise_case;
        done = look_again_and_wait(m, r);
        if (!r.waits_for_files || is_confirmed(r, done)) return done;
    }
}

}  // namespace

std::size_t select_among(select_request& r) {
    step(operation::select, nullptr);
    const std::size_t done = select_one(r);
    if (simulates() && done < r.count && r.cases[done].object != nullptr) [[unlikely]]
        note_done(operation::select, r.cases[done].object);
    return done;
}

}  // namespace weft::detail
