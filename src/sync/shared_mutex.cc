// shared_mutex.cc: the contended half of weft::shared_mutex. The contract and the invariants are in weft/shared_mutex.h.
//
// All bits, the count and both queues change together under the word's own lock bit, and every such change ends in one store, in
// settle() or beside it, after which the lock is not touched: whoever gets it then may destroy it.
//
//   writer comes:      nobody in: takes it. Readers in: sets pending, so that no more come, and queues. Else: queues.
//   writer leaves:     wakes all readers that wait, or lets them in if one of them is hungry. Then, if there are writers: readers are in:
//                      pending, so the first of them is next. Nobody is in, starving: gives it to the first. Else: wakes the first.
//   reader comes:      no writer in or pending: is counted. Else: queues.
//   last reader leaves, with pending: gives the lock to the first writer.
//   writer, woken:     as one that comes, but queues first; waited more than 1 ms: sets starving.
//   writer, given it:  waited less than 1 ms: clears starving.
//   writer, time up:   was the last: clears pending, and wakes the readers it kept out. Was woken: another one is.
//   reader, woken:     as one that comes; waited more than 1 ms: sets hungry.
//
// Letting all readers in each time a writer leaves would be simpler, and fair at once. But those that are in and do not run yet keep the
// next writer out, which keeps all others out, each for one turn of the run queue: once everybody waits, everybody goes on waiting for
// each operation.
//
// Two readers that change the word at once cost each other a cache miss. When that has happened some hundreds of times without a
// writer in between, the readers spread: from then on they use reader_slots.h, and the word is only read. The next writer gathers
// them: closes the slots, and adds what they counted to the word's count. This costs it a cache miss for each slot, so readers
// have to collide as often again before they spread again.
#include <utility>

#include <weft/shared_mutex.h>

#include "base/abandoned.h"
#include "base/assert.h"
#include "os/os.h"
#include "sync/reader_slots.h"

namespace weft {

using namespace detail;

namespace {

constexpr int64_t starving_after_ns = 1'000'000;
constexpr uint32_t misses_until_spread = 256;

[[noreturn]] void fatal_too_many() noexcept {
    fatal("more than %u readers of a weft::shared_mutex", shared_mutex::max_readers);
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
    // relaxed: whoever destroys it has synchronised with its users
    const uint32_t seen = state_.word().load(relaxed);
    reader_slots* slots = slots_.load(relaxed);  // relaxed: as above
    const bool nobody_in = (seen & spread) == 0 ? seen == 0 : slots->look() + (seen >> shift) == 0;
    if (!nobody_in) {
        const uint32_t bits = state_.lock_bits();
        if (!abandoned::may_be(!writers_.empty() || !readers_.empty())) {
            fatal("a weft::shared_mutex was destroyed while it was locked or waited for");
        }
        writers_.forget_all();
        readers_.forget_all();
        const bool goes_on = abandoned::at_exit();
        state_.unlock_bits(goes_on ? bits : 0);
        if (goes_on) return;  // the slots stay for those who unlock
    }
    reader_slots::destroy(slots);
}

// The guard is held, and the caller's change made to bits. Does what follows from it: who is next goes in, or is woken. Frees the
// guard; after that not a word of the lock is touched.
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
            bits &= ~pending;  // who was to be next has given up
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

// The result is served when the lock is ours. Otherwise we have left no trace.
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
        const int64_t now = os::monotonic_ns();
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
            const wait_result result =
                wait_untold(was_woken, me, writers_, state_, bits | waiting, reason, deadline_ns);
            if (result != wait_result::served) {
                if (lends) waits_no_longer();
                settle(state_.lock_bits());
                return result;
            }
        } else if (was_woken) {
            wait_first(me, writers_, state_, bits | waiting, reason);
        } else {
            wait(me, writers_, state_, bits | waiting, reason);
        }
        if (lends) waits_no_longer();
        if (me.ok) {
            // It is ours already. relaxed: only who has it clears the bit, and only a woken waiter sets it
            if ((state_.word().load(relaxed) & starving) != 0 &&
                os::monotonic_ns() - waiting_since_ns < starving_after_ns) {
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

// The readers are spread, or were a moment ago.
bool shared_mutex::try_lock_spread() noexcept {
    uint32_t bits = state_.lock_bits();
    // A look first: readers that stay need not be gathered.
    if ((bits & spread) == 0 || slots_.load(relaxed)->look() + (bits >> shift) != 0) {  // relaxed: under the guard
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
        fatal("unlock of a weft::shared_mutex that is not locked, or locked shared");
    }
    if (classes_in_use()) [[unlikely]]
        gives();
    settle(bits & ~writer);
}

void shared_mutex::pass_on(lock_waiter& w, bool served) noexcept {
    shared_mutex& m = *static_cast<shared_mutex*>(w.slot);
    if (w.ok) {
        m.unlock();  // it was given the lock, and never knew
        return;
    }
    const uint32_t bits = m.state_.lock_bits();
    m.settle(served ? bits & ~woken : bits);
}

// ---- Readers.

// Counts the caller in, if no writer is in the way.
bool shared_mutex::enter() noexcept {
    atomic<uint32_t>& word = state_.word();
    uint32_t seen = word.load(acquire);          // slots_, from spread_readers()
    if ((seen & flags) == 0) readers_collide();  // or we would not be here
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

// As contend.
template <bool interruptible>
wait_result shared_mutex::contend_shared(int64_t deadline_ns) noexcept {
    int64_t waiting_since_ns = 0;
    while (!enter()) {
        uint32_t bits = state_.lock_bits();
        if ((bits & (writer | pending)) == 0) {
            state_.unlock_bits(bits);
            continue;
        }
        const int64_t now = os::monotonic_ns();
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
            const wait_result result = wait_untold(false, me, readers_, state_, bits | waiting, reason, deadline_ns);
            if (result != wait_result::served) {
                if (lends) waits_no_longer();
                settle(state_.lock_bits());
                return result;
            }
        } else {
            wait(me, readers_, state_, bits | waiting, reason);
        }
        if (lends) waits_no_longer();
        if (me.ok) break;  // whoever let us in has counted us
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
        if (seen < reader) fatal("unlock_shared of a weft::shared_mutex that is not locked shared");
        if ((seen & pending) != 0 && seen < 2 * reader) {
            // The last one, as far as we see.
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

// Another reader was quicker.
void shared_mutex::readers_collide() noexcept {
    const uint32_t misses = misses_.load(relaxed) + 1;  // relaxed: a rough count
    misses_.store(misses, relaxed);                     // relaxed: as above
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
        if (slots_.load(relaxed) == nullptr)
            slots_.store(std::exchange(fresh, nullptr), relaxed);  // relaxed: under the guard
        slots_.load(relaxed)->open();                              // relaxed: as above
    }
    state_.unlock_bits(only_readers ? bits | spread : bits);
    reader_slots::destroy(fresh);
}

// The guard is held. Returns the bits with all readers counted in the word.
uint32_t shared_mutex::gather_readers(uint32_t bits) noexcept {
    misses_.store(0, relaxed);  // relaxed: a rough count
    if ((bits & spread) == 0) return bits;
    const int64_t readers = slots_.load(relaxed)->close() + (bits >> shift);  // relaxed: under the guard
    if (readers < 0) fatal("unlock_shared of a weft::shared_mutex that is not locked shared");
    if (readers > max_readers) fatal_too_many();
    return (bits & flags & ~spread) | static_cast<uint32_t>(readers) << shift;
}

}  // namespace weft
