// shared_mutex.cc: the contended half of weft::shared_mutex; see weft/shared_mutex.h.
//
// Each change ends in one store, in or beside settle(), after which the lock is not accessed: the
// next holder may destroy it.
//
//   writer arrives:    Free: takes it. Readers inside: sets pending, so no more enter, and queues.
//                      Otherwise queues.
//   writer leaves:     Wakes all waiting readers, or admits them if one is hungry. Then, if writers
//                      wait: with readers inside, sets pending, so the first is next; else, if
//                      starving, hands over to the first; else wakes it.
//   reader arrives:    No writer inside or pending: is counted. Otherwise queues.
//   last reader leaves, with pending: hands over to the first writer.
//   writer, woken:     As on arrival, but queues first. After more than 1 ms: sets starving.
//   writer, served:    After less than 1 ms: clears starving.
//   writer, timed out: Was last: clears pending, wakes readers it kept out. Was woken: another is.
//   reader, woken:     As on arrival. After more than 1 ms: sets hungry.
//
// Spread readers only read the word (reader_slots.h). The next writer gathers them, at a cache miss
// per slot, so they must collide as often again before they spread again.
#include <utility>

#include <weft/shared_mutex.h>

#include "base/abandoned.h"
#include "base/assert.h"
#include "os/os.h"
#include "sched/simulation.h"
#include "sync/reader_slots.h"
#include "sync/starving.h"

namespace weft {

using namespace detail;

namespace {

constexpr uint32_t misses_until_spread = 256;

[[noreturn]] void fatal_too_many() noexcept {
    fatal("more than %u readers of a weft::shared_mutex at the same time; look for lock_shared without unlock_shared",
          shared_mutex::max_readers);
}

bool unless_interrupted(wait_result result) {
    if (result == wait_result::cancelled || result == wait_result::expired) {
        tell_tokens(result);
        throw_interrupted(result);
    }
    return result == wait_result::served;
}

}  // namespace

shared_mutex::~shared_mutex() {
    const uint32_t seen = state_.word().load(relaxed_alone);
    reader_slots* slots = slots_.load(relaxed_alone);
    const bool nobody_in = (seen & spread) == 0 ? seen == 0 : slots->look() + (seen >> shift) == 0;
    if (!nobody_in) {
        const uint32_t bits = state_.lock_bits();
        if (!abandoned::may_be(!writers_.empty() || !readers_.empty())) {
            fatal(
                "a weft::shared_mutex was destroyed while it was locked or a thread waited for it; let its users "
                "finish first");
        }
        writers_.forget_all();
        readers_.forget_all();
        const bool goes_on = abandoned::at_exit();
        state_.unlock_bits(goes_on ? bits : 0);
        if (goes_on) return;  // kept for later unlocks
    }
    reader_slots::destroy(slots);
    lock_ends(this);
}

// Completes the caller's change, made to bits: admits or wakes the next holders and frees the
// guard, as the last access. Requires: the guard is held.
void shared_mutex::settle(uint32_t bits) noexcept {
    waiter* next = nullptr;  // a writer
    waiter* readers = nullptr;
    if ((bits & pending) != 0) {
        if (bits < reader) {
            bits &= ~pending;
            next = writers_.pop_claimed();
            if (next != nullptr) {
                next->ok = true;
                bits |= writer;
                if (classes_in_use()) [[unlikely]]
                    hand_to(*next);
            }
        } else if (writers_.empty()) {
            bits &= ~pending;  // that writer gave up
        }
    }
    if ((bits & (writer | pending)) == 0) {
        guarded<waiter*>* link = nullptr;
        while (waiter* w = readers_.pop_claimed()) {
            w->next = nullptr;
            if (link == nullptr) {
                readers = w;
            } else {
                *link = w;
            }
            link = &w->next;
            if ((bits & hungry) == 0) continue;
            if (bits >> shift == max_readers) fatal_too_many();
            w->ok = true;
            bits += reader;
        }
        bits &= ~hungry;
        if (!writers_.empty()) {
            if (bits >= reader) {
                bits |= pending;
            } else if ((bits & woken) == 0) {
                next = writers_.pop_claimed();
                if (next != nullptr && (bits & starving) != 0) {
                    next->ok = true;
                    bits |= writer;
                    if (classes_in_use()) [[unlikely]]
                        hand_to(*next);
                } else if (next != nullptr) {
                    bits |= woken;
                }
            }
        }
    }
    const bool writers_wait = !writers_.empty();
    if (!writers_wait) bits &= ~starving;
    bits = writers_wait || !readers_.empty() ? bits | waiting : bits & ~waiting;
    state_.unlock_bits(bits);
    if (next != nullptr) ready(*next);
    ready_all(readers);
}

// ---- Writers.

// Returns served if the caller holds the lock; otherwise leaves no trace.
template <bool interruptible>
wait_result shared_mutex::contend(int64_t deadline_ns) noexcept {
    int64_t waiting_since_ns = 0;
    bool was_woken = false;
    for (;;) {
        uint32_t bits = gather_readers(state_.lock_bits());
        if (was_woken) bits &= ~woken;
        const bool open = (bits & (writer | pending | starving)) == 0;
        if (open && bits < reader) {
            state_.unlock_bits(bits | writer);
            return wait_result::served;
        }
        const int64_t now = clock_ns();
        if (interruptible && now >= deadline_ns) {
            settle(bits);
            return wait_result::timed_out;
        }
        if (open) bits |= pending;
        if (waiting_since_ns == 0) waiting_since_ns = now;
        if (was_woken && now - waiting_since_ns > starving_after_ns) bits |= starving;

        const bool lends = classes_in_use();
        if (lends) [[unlikely]]
            lend_to_writer(bits);
        lock_waiter me(this, &pass_on);
        constexpr auto reason = wait_reason::shared_mutex_lock;
        if constexpr (interruptible) {
            const wait_result result = wait_cancellable(state_, {.me = me,
                                                                 .queue = writers_,
                                                                 .bits = bits | waiting,
                                                                 .reason = reason,
                                                                 .deadline_ns = deadline_ns,
                                                                 .at_front = was_woken,
                                                                 .for_lock = true});
            if (result != wait_result::served) {
                if (lends) waits_no_longer();
                settle(state_.lock_bits());
                return result;
            }
        } else {
            wait(state_,
                 {.me = me, .queue = writers_, .bits = bits | waiting, .reason = reason, .at_front = was_woken});
        }
        if (lends) waits_no_longer();
        if (me.ok) {
            // Handed over. relaxed: only the holder clears the bit; only a woken waiter sets it
            if ((state_.word().load(relaxed) & starving) != 0 && clock_ns() - waiting_since_ns < starving_after_ns) {
                bits = state_.lock_bits();
                state_.unlock_bits(bits & ~starving);
            }
            return wait_result::served;
        }
        was_woken = true;
    }
}

void shared_mutex::lock_slow() noexcept { static_cast<void>(contend<false>(never)); }

bool shared_mutex::lock_until(int64_t deadline_ns) {
    const bool ours = unless_interrupted(contend<true>(deadline_ns));
    if (ours && classes_in_use()) took();
    return ours;
}

// Readers are spread, or were recently.
bool shared_mutex::try_lock_spread() noexcept {
    uint32_t bits = state_.lock_bits();
    // If readers stay, gathering is unnecessary.
    if ((bits & spread) == 0 || slots_.load(relaxed_locked)->look() + (bits >> shift) != 0) {
        state_.unlock_bits(bits);
        return false;
    }
    bits = gather_readers(bits);
    const bool nobody_in = bits < reader;
    state_.unlock_bits(nobody_in ? bits | writer : bits);
    return nobody_in;
}

void shared_mutex::unlock_slow() noexcept {
    const uint32_t bits = state_.lock_bits();
    if ((bits & writer) == 0) {
        state_.unlock_bits(bits);
        fatal(
            "unlock of a weft::shared_mutex that is not locked exclusively; pair lock and unlock with std::lock_guard");
    }
    if (classes_in_use()) [[unlikely]]
        gives();
    settle(bits & ~writer);
}

void shared_mutex::pass_on(lock_waiter& w, bool served) noexcept {
    shared_mutex& m = *static_cast<shared_mutex*>(w.slot);
    if (w.ok) {
        m.unlock();  // handed to w, which never ran
        return;
    }
    const uint32_t bits = m.state_.lock_bits();
    m.settle(served ? bits & ~woken : bits);
}

// ---- Readers.

bool shared_mutex::enter() noexcept {
    atomic<uint32_t>& word = state_.word();
    uint32_t seen = word.load(acquire);          // slots_, from spread_readers()
    if ((seen & flags) == 0) readers_collide();  // implied by the slow path
    for (uint32_t attempt = 0;;) {
        if ((seen & spread) != 0 && slots_.load(relaxed)->enter(slot_of_caller())) return true;  // relaxed: see above
        if ((seen & (writer | pending)) != 0) return false;
        if ((seen & (spread | guarded_word::guard)) != 0) {
            spin_backoff(attempt++);
            seen = word.load(acquire);  // as above
            continue;
        }
        if (seen >> shift == max_readers) fatal_too_many();
        if (word.compare_exchange_weak(seen, seen + reader, acquire, acquire)) return true;  // A2; acquire: as above
        readers_collide();
    }
}

template <bool interruptible>
wait_result shared_mutex::contend_shared(int64_t deadline_ns) noexcept {
    int64_t waiting_since_ns = 0;
    while (!enter()) {
        uint32_t bits = state_.lock_bits();
        if ((bits & (writer | pending)) == 0) {
            state_.unlock_bits(bits);
            continue;
        }
        const int64_t now = clock_ns();
        if (interruptible && now >= deadline_ns) {
            state_.unlock_bits(bits);
            return wait_result::timed_out;
        }
        if (waiting_since_ns == 0) waiting_since_ns = now;
        if (now - waiting_since_ns > starving_after_ns) bits |= hungry;

        const bool lends = classes_in_use();
        if (lends) [[unlikely]]
            lend_to_writer(bits);
        lock_waiter me(this, &pass_on_shared);
        constexpr auto reason = wait_reason::shared_mutex_lock_shared;
        if constexpr (interruptible) {
            const wait_result result = wait_cancellable(state_, {.me = me,
                                                                 .queue = readers_,
                                                                 .bits = bits | waiting,
                                                                 .reason = reason,
                                                                 .deadline_ns = deadline_ns,
                                                                 .for_lock = true});
            if (result != wait_result::served) {
                if (lends) waits_no_longer();
                settle(state_.lock_bits());
                return result;
            }
        } else {
            wait(state_, {.me = me, .queue = readers_, .bits = bits | waiting, .reason = reason});
        }
        if (lends) waits_no_longer();
        if (me.ok) break;  // counted by the admitting thread
    }
    return wait_result::served;
}

void shared_mutex::lock_shared_slow() noexcept { static_cast<void>(contend_shared<false>(never)); }

bool shared_mutex::lock_shared_until(int64_t deadline_ns) {
    return unless_interrupted(contend_shared<true>(deadline_ns));
}

void shared_mutex::unlock_shared_slow() noexcept {
    atomic<uint32_t>& word = state_.word();
    uint32_t seen = word.load(acquire);          // as in enter()
    if ((seen & flags) == 0) readers_collide();  // as there
    for (uint32_t attempt = 0;;) {
        if ((seen & spread) != 0 && slots_.load(relaxed)->leave(slot_of_caller())) return;  // relaxed: as in enter()
        if ((seen & (spread | guarded_word::guard)) != 0) {
            spin_backoff(attempt++);
            seen = word.load(acquire);  // as above
            continue;
        }
        if (seen < reader)
            fatal(
                "unlock_shared of a weft::shared_mutex that is not locked shared; pair the calls with "
                "std::shared_lock");
        if ((seen & pending) != 0 && seen < 2 * reader) {
            // Probably the last reader.
            const uint32_t bits = state_.lock_bits();
            settle(bits - reader);
            return;
        }
        if (word.compare_exchange_weak(seen, seen - reader, acq_rel, acquire)) return;  // R2; acquire: as above
        readers_collide();
    }
}

void shared_mutex::pass_on_shared(lock_waiter& w, bool /*served*/) noexcept {
    shared_mutex& m = *static_cast<shared_mutex*>(w.slot);
    if (w.ok) {
        m.unlock_shared();
    } else {
        m.settle(m.state_.lock_bits());
    }
}

// ---- Spreading readers.

// After losing a race with another reader.
void shared_mutex::readers_collide() noexcept {
    const uint32_t misses = misses_.load(relaxed_count) + 1;
    misses_.store(misses, relaxed_count);
    if (misses >= misses_until_spread) spread_readers();
}

void shared_mutex::spread_readers() noexcept {
    reader_slots* fresh = nullptr;
    if (slots_.load(relaxed) == nullptr) {  // relaxed: decided under the guard
        fresh = reader_slots::make(log2_slots_for_caller());
        if (fresh == nullptr) return;
    }
    const uint32_t bits = state_.lock_bits();
    const bool only_readers = (bits & flags) == 0;
    if (only_readers) {
        if (slots_.load(relaxed_locked) == nullptr) slots_.store(std::exchange(fresh, nullptr), relaxed_locked);
        slots_.load(relaxed_locked)->open();
    }
    state_.unlock_bits(only_readers ? bits | spread : bits);
    reader_slots::destroy(fresh);
}

// Returns bits with all readers counted in the word. Requires: the guard is held.
uint32_t shared_mutex::gather_readers(uint32_t bits) noexcept {
    misses_.store(0, relaxed_count);
    if ((bits & spread) == 0) return bits;
    const int64_t readers = slots_.load(relaxed_locked)->close() + (bits >> shift);
    if (readers < 0)
        fatal("unlock_shared of a weft::shared_mutex that is not locked shared; pair the calls with std::shared_lock");
    if (readers > max_readers) fatal_too_many();
    return (bits & flags & ~spread) | static_cast<uint32_t>(readers) << shift;
}

}  // namespace weft
