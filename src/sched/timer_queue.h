// timer_queue.h: the deadlines of one P, earliest first.
//
// A timing wheel: docs/timers.md explains it, why equal deadlines stay in order, and what was
// rejected. A slot of level n is 32^n ns wide. A slot with more than `few` timers is split into the
// level below, steps_max timers per call, early enough to finish before its earliest deadline.
//
// Invariants: I1. reached_ is not later than any deadline here, and decreases only by a rewind.
//             I2. A timer on level n is in a slot less than 64 after the slot of reached_.
//             I3. next_deadline() is not later than any deadline. It is exact, unless a slot must
//                 be split first, or the earliest of many timers was removed since the last look.
//             I4. A slot's list has equal deadlines in the order of addition; those on higher
//                 levels are older.
// Locks:      lock (leaf; an object's lock may be held).
// Threads:    any M with a P, or thread that has pinned the scheduler; next_deadline(): any.
// See:        docs/timers.md
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include <weft/detail/wait.h>

#include "base/assert.h"
#include "base/atomic.h"
#include "base/ranked_lock.h"

namespace weft::detail {

class timer_queue;
struct M;

// A deadline that ends a wait or calls a function. Guarded by its queue's lock.
struct timer {
    int64_t deadline_ns = never;
    waiter* who = nullptr;  // nullptr: fire is called
    // Called on g0 of m, without locks; m is nullptr when the runtime has stopped.
    void (*fire)(M* m, timer& t, int64_t now_ns) noexcept = nullptr;
    // The queue of its last addition; changes under that queue's lock when timers move.
    atomic<timer_queue*> home{nullptr};
    guarded<bool> queued = false;
    bool fired = false;  // the deadline won the claim
    uint8_t level = 0;

    // Links of the slot's list; next also of fired timers.
    timer* next = nullptr;
    timer* prev = nullptr;
};

class timer_queue {
public:
    // The most timers that one call inspects or moves.
    static constexpr unsigned steps_max = 64;

    timer_queue() noexcept {}  // NOLINT: unused slots stay untouched and cost no memory

    timer_queue(const timer_queue&) = delete;
    timer_queue& operator=(const timer_queue&) = delete;

    ranked_lock<lock_rank::leaf> lock;

    // When to call pop_due_locked() next (I3); never: the queue is empty. A hint.
    [[nodiscard]] int64_t next_deadline() const noexcept { return next_.load(relaxed_hint); }

    [[nodiscard]] uint64_t size() const noexcept { return size_; }

    // O(1). now_ns: a past time, the later the better. A deadline before reached_ becomes reached_.
    // Requires: t is in no queue; its deadline is not never.
    void add_locked(timer& t, int64_t now_ns = 0) noexcept WEFT_REQUIRES(lock) {
        WEFT_ASSERT(!t.queued);
        reach(std::min(now_ns, next_.load(relaxed_locked)));
        t.queued = true;
        t.home.store(this, relaxed);  // relaxed: users take the lock and check again
        t.deadline_ns = std::max(t.deadline_ns, reached_);
        const unsigned level = level_of(t.deadline_ns);
        slot& s = open(level, t.deadline_ns);
        link_last(s, t, level);
        ++size_;
        const int64_t look_at = is_crowded(s, level) ? split_time(s, level) : t.deadline_ns;
        if (look_at < next_.load(relaxed)) publish(look_at);  // relaxed: as above
    }

    // O(1).
    void remove_locked(timer& t) noexcept WEFT_REQUIRES(lock) {
        WEFT_ASSERT(t.queued && t.home.load(relaxed_locked) == this);
        unlink(t);
        if (size_ == 0) {
            publish(never);
        } else if (size_ <= few && t.deadline_ns <= next_.load(relaxed_locked)) {
            publish(look_closely().next_ns());
        }
    }

    // Removes and returns the earliest timer if it is due. nullptr: none is due, or steps are used
    // up; then next_deadline() stays at or before now_ns. A step is a timer popped or moved.
    // Requires: now_ns has come.
    [[nodiscard]] timer* pop_due_locked(int64_t now_ns, unsigned& steps) noexcept WEFT_REQUIRES(lock) {
        if (next_.load(relaxed_locked) > now_ns) return nullptr;
        while (steps != 0) {
            const upcoming ahead = look_closely();
            reach(std::min(now_ns, ahead.earliest_ns));
            if (ahead.earliest_ns <= now_ns) {
                if (ahead.first != nullptr) {
                    --steps;
                    unlink(*ahead.first);
                    if (size_ == 0) publish(never);
                    return ahead.first;
                }
                split(ahead.level, first_of(ahead.level, filled_[ahead.level]), steps);
            } else if (ahead.split_ns <= now_ns) {
                split(ahead.split_level, first_of(ahead.split_level, crowded_[ahead.split_level]), steps);
            } else {
                publish(ahead.next_ns());
                return nullptr;
            }
        }
        return nullptr;
    }

    [[nodiscard]] timer* pop_due_locked(int64_t now_ns) noexcept WEFT_REQUIRES(lock) {
        unsigned steps = steps_max;
        return pop_due_locked(now_ns, steps);
    }

    // nullptr: the queue is empty.
    [[nodiscard]] timer* pop_any_locked() noexcept WEFT_REQUIRES(lock) {
        if (size_ == 0) return nullptr;
        // The highest level has the oldest (I4).
        const auto level = static_cast<unsigned>(std::bit_width(filled_levels_) - 1);
        timer* t = first_of(level, filled_[level]).first;
        remove_locked(*t);
        return t;
    }

    // Moves up to steps_max timers; both locks are held. True: this queue is empty and closed, and
    // nothing may be added until it is opened.
    [[nodiscard]] bool move_some_locked(timer_queue& to) noexcept WEFT_REQUIRES(lock, to.lock) {
        for (unsigned steps = steps_max; size_ != 0 && steps != 0; --steps) to.add_locked(*pop_any_locked());
        closed_ = size_ == 0;
        return closed_;
    }

    [[nodiscard]] bool closed_locked() const noexcept WEFT_REQUIRES(lock) { return closed_; }

    void open_locked() noexcept WEFT_REQUIRES(lock) { closed_ = false; }

    // A simulated time starts again: it may be earlier than any before. Requires: no timer is here.
    void rewind_locked() noexcept WEFT_REQUIRES(lock) {
        WEFT_ASSERT(size_ == 0);
        reached_ = 0;
    }

private:
    static constexpr unsigned digit_bits = 5;
    static constexpr unsigned slots_per_level = 64;
    static constexpr unsigned levels = 13;
    static constexpr unsigned few = 8;       // a slot with no more timers is not split
    static constexpr int64_t move_ns = 200;  // time to move one uncached timer
    static_assert(slots_per_level == 2U << digit_bits, "a slot and the one after it fit the level below");
    static_assert(levels * digit_bits >= 63, "the last level reaches any deadline");

    struct slot {
        timer* first;
        timer* last;
        int64_t earliest_ns;  // not later than any deadline here
        uint32_t count;
    };

    struct upcoming {
        int64_t earliest_ns = never;  // no deadline is earlier
        unsigned level = 0;
        timer* first = nullptr;    // fires then; nullptr: split its slot first
        int64_t split_ns = never;  // the next split
        unsigned split_level = 0;

        [[nodiscard]] int64_t next_ns() const noexcept { return std::min(earliest_ns, split_ns); }
    };

    static uint64_t number(int64_t time_ns, unsigned level) noexcept {
        return static_cast<uint64_t>(time_ns) >> (level * digit_bits);
    }

    static uint64_t bit(uint64_t number) noexcept { return uint64_t{1} << (number % slots_per_level); }

    slot& slot_at(unsigned level, uint64_t number) noexcept WEFT_REQUIRES(lock) {
        return slots_[level][number % slots_per_level];
    }

    // The lowest level that reaches deadline_ns.
    [[nodiscard]] unsigned level_of(int64_t deadline_ns) const noexcept WEFT_REQUIRES(lock) {
        const auto width = static_cast<unsigned>(std::bit_width(static_cast<uint64_t>(deadline_ns - reached_)));
        const unsigned level = width <= digit_bits + 1 ? 0 : (width - 2) / digit_bits;
        const bool reaches = number(deadline_ns, level) - number(reached_, level) < slots_per_level;
        return reaches ? level : level + 1;
    }

    static bool is_crowded(const slot& s, unsigned level) noexcept { return s.count > few && level != 0; }

    // When to begin a split of s. reached_ is then in s or the slot before.
    static int64_t split_time(const slot& s, unsigned level) noexcept {
        return s.earliest_ns - std::min(int64_t{s.count} * move_ns, int64_t{1} << (level * digit_bits));
    }

    // The first slot of the non-empty set from reached_ on.
    slot& first_of(unsigned level, uint64_t set) noexcept WEFT_REQUIRES(lock) {
        const uint64_t from = number(reached_, level);
        const int ahead = std::countr_zero(std::rotr(set, static_cast<int>(from % slots_per_level)));
        return slot_at(level, from + static_cast<uint64_t>(ahead));
    }

    // Level's slot for deadline_ns, initialized if empty.
    slot& open(unsigned level, int64_t deadline_ns) noexcept WEFT_REQUIRES(lock) {
        const uint64_t n = number(deadline_ns, level);
        slot& s = slot_at(level, n);
        if ((filled_[level] & bit(n)) == 0) {
            filled_[level] |= bit(n);
            filled_levels_ |= 1U << level;
            s.first = s.last = nullptr;
            s.earliest_ns = deadline_ns;
            s.count = 0;
        }
        return s;
    }

    void count_in(slot& s, timer& t, unsigned level) noexcept WEFT_REQUIRES(lock) {
        t.level = static_cast<uint8_t>(level);
        s.earliest_ns = std::min(s.earliest_ns, t.deadline_ns);
        ++s.count;
        if (is_crowded(s, level)) crowded_[level] |= bit(number(t.deadline_ns, level));
    }

    void link_last(slot& s, timer& t, unsigned level) noexcept WEFT_REQUIRES(lock) {
        t.next = nullptr;
        t.prev = s.last;
        (s.last != nullptr ? s.last->next : s.first) = &t;
        s.last = &t;
        count_in(s, t, level);
    }

    void link_first(slot& s, timer& t, unsigned level) noexcept WEFT_REQUIRES(lock) {
        t.prev = nullptr;
        t.next = s.first;
        (s.first != nullptr ? s.first->prev : s.last) = &t;
        s.first = &t;
        count_in(s, t, level);
    }

    void unlink(timer& t) noexcept WEFT_REQUIRES(lock) {
        t.queued = false;  // first: here the model detects a timer that is gone
        const unsigned level = t.level;
        const uint64_t n = number(t.deadline_ns, level);
        slot& s = slot_at(level, n);
        (t.prev != nullptr ? t.prev->next : s.first) = t.next;
        (t.next != nullptr ? t.next->prev : s.last) = t.prev;
        --s.count;
        if (s.count <= few) crowded_[level] &= ~bit(n);
        if (s.count == 0) {
            filled_[level] &= ~bit(n);
            if (filled_[level] == 0) filled_levels_ &= ~(1U << level);
        }
        WEFT_ASSERT(size_ != 0);
        --size_;
    }

    // The first of the earliest timers of s.
    static timer* earliest_of(const slot& s) noexcept {
        timer* earliest = s.first;
        for (timer* t = earliest->next; t != nullptr; t = t->next) {
            if (t->deadline_ns < earliest->deadline_ns) earliest = t;
        }
        return earliest;
    }

    // From the first slots only: earliest_ns may belong to a removed timer.
    [[nodiscard]] upcoming look() noexcept WEFT_REQUIRES(lock) {
        upcoming ahead;
        for (uint32_t rest = filled_levels_; rest != 0; rest &= rest - 1) {
            const auto level = static_cast<unsigned>(std::countr_zero(rest));
            const int64_t earliest_ns = first_of(level, filled_[level]).earliest_ns;
            if (earliest_ns <= ahead.earliest_ns) {  // of equal ones, the oldest (I4)
                ahead.earliest_ns = earliest_ns;
                ahead.level = level;
            }
            if (crowded_[level] == 0) continue;
            const int64_t split_ns = split_time(first_of(level, crowded_[level]), level);
            if (split_ns < ahead.split_ns) {
                ahead.split_ns = split_ns;
                ahead.split_level = level;
            }
        }
        return ahead;
    }

    // As look(), but searches slots with few timers; corrects each level's first slot at most once.
    [[nodiscard]] upcoming look_closely() noexcept WEFT_REQUIRES(lock) {
        for (;;) {
            upcoming ahead = look();
            if (ahead.earliest_ns == never) return ahead;
            slot& s = first_of(ahead.level, filled_[ahead.level]);
            if (is_crowded(s, ahead.level)) return ahead;
            ahead.first = ahead.level == 0 ? s.first : earliest_of(s);
            if (ahead.first->deadline_ns == ahead.earliest_ns) return ahead;
            s.earliest_ns = ahead.first->deadline_ns;
        }
    }

    // Moves timers of s to the level below, newest first, to the front of their slots (I4).
    // Requires: reached_ is in s or the slot before.
    void split(unsigned level, slot& s, unsigned& steps) noexcept WEFT_REQUIRES(lock) {
        const unsigned below = level - 1;
        for (; s.count != 0 && steps != 0; --steps) {
            timer& t = *s.last;
            __builtin_prefetch(t.prev);
            unlink(t);
            WEFT_DCHECK(number(t.deadline_ns, below) - number(reached_, below) < slots_per_level);
            link_first(open(below, t.deadline_ns), t, below);
            t.queued = true;
            ++size_;
        }
    }

    void reach(int64_t time_ns) noexcept WEFT_REQUIRES(lock) { reached_ = std::max(reached_, time_ns); }

    void publish(int64_t next_ns) noexcept { next_.store(next_ns, relaxed); }  // relaxed: see next_deadline

    atomic<int64_t> next_{never};  // written under lock

    // Guarded by lock.
    int64_t reached_ WEFT_GUARDED_BY(lock) = 0;
    uint64_t size_ = 0;
    bool closed_ WEFT_GUARDED_BY(lock) = false;
    uint32_t filled_levels_ WEFT_GUARDED_BY(lock) = 0;
    uint64_t filled_[levels] WEFT_GUARDED_BY(lock) = {};   // slots in use
    uint64_t crowded_[levels] WEFT_GUARDED_BY(lock) = {};  // those that are crowded
    slot slots_[levels][slots_per_level] WEFT_GUARDED_BY(lock);
};

// Locks and returns the queue that t was last added to.
inline timer_queue& lock_home(const timer& t) noexcept WEFT_NO_THREAD_SAFETY_ANALYSIS {
    for (;;) {
        timer_queue* home = t.home.load(relaxed_hint);
        home->lock.lock();
        if (t.home.load(relaxed_locked) == home) return *home;
        home->lock.unlock();
    }
}

}  // namespace weft::detail
