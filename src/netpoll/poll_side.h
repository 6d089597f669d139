// poll_side.h: one direction of a file: its waiters, and a count of its changes.
//
// Each direction counts its edges (backend.h), which come to any thread. A call
//
//   I1  reads the count
//   I2  tries the system call; done, unless it would block
//   I3  takes the direction's lock. If the count differs from I1, an edge has come: to I1
//   I4  joins the queue and parks; the lock is released once it is parked
//   I5  wakes: to I1
//
// An edge takes the lock, counts, and wakes the first waiter. I2 sees an edge before I1; I3 sees a
// later one, or that one finds the waiter.
//
// One at a time: an edge wakes one waiter. If its call does not block again, it first wakes the
// next one (pass_on). Otherwise another edge will come.
//
// Drained: a read that returns less than requested has emptied a stream (exceptions:
// docs/netpoll.md). It stores its count in drained, and calls begin with I3 until the next edge. A
// new deadline counts as an edge, so that calls about to wait check it, and drained follows the
// count.
//
// Rejected:
// - Waking all waiters at each edge.
// - A lock for the whole call (Go): two more atomic operations per call.
//
// Invariants: S1. While the queue is not empty, the bit waiting is set. (A timed-out waiter may
//                 leave it set.)
//             S2. An edge counts only for the file that the number means then: the generation in
//                 word changes with the lock held.
// Ordering:   R1 (an edge is counted) pairs with A1 (the count is read): hung_up is seen, and all
//                writes before nudge() or wake_all().
// Threads:    any.
// See:        docs/netpoll.md, test/model/poll_side_model.cc
#pragma once

#include <cstdint>

#include <weft/detail/spin_lock.h>
#include <weft/detail/wait.h>

#include "base/atomic.h"

namespace weft::detail {

// The upper half of the word of a file (poll_desc.h).
inline constexpr unsigned generation_shift = 32;

[[nodiscard]] constexpr uint32_t generation_of(uint64_t file_word) noexcept {
    return static_cast<uint32_t>(file_word >> generation_shift);
}

// The direction of reads and accepts, or of writes and connects.
class poll_side {
public:
    // The word: the lock, waiting, and the count of edges.
    static constexpr uint32_t waiting = 2;
    static constexpr uint32_t edge = 4;
    static constexpr uint32_t edges_mask = ~(edge - 1);

    [[nodiscard]] static constexpr uint32_t edges_of(uint32_t bits) noexcept { return bits & edges_mask; }

    // I1. A1.
    [[nodiscard]] uint32_t edges() const noexcept { return edges_of(word_.word().load(acquire)); }

    // Whether a call that has read this count would block.
    [[nodiscard]] bool is_drained(uint32_t seen) const noexcept {
        return drained_.load(relaxed) == seen && !hung_up_.load(relaxed);  // relaxed: a later edge corrects it; A1
    }

    // For a call with this count that has emptied the stream.
    void set_drained(uint32_t seen) noexcept { drained_.store(seen, relaxed); }  // relaxed: as above

    // I3 and I4: waits for an edge after the count seen. Returns served at once if it has come.
    [[nodiscard]] wait_result wait_after(uint32_t seen, wait_reason reason, int64_t deadline_ns) noexcept;

    // Wakes the next waiter, after a call, woken or not, that has found something. Costs one load
    // if nothing waits.
    void pass_on() noexcept {
        if ((word_.word().load(relaxed) & waiting) != 0) [[unlikely]]  // relaxed: a later waiter finds what we found
            wake_next();
    }

    // Counts an event as an edge, for the file of that generation. Returns the waiter to make
    // ready, or nullptr.
    [[nodiscard]] waiter* count_edge(const atomic<uint64_t>& file_word, uint32_t generation, bool hung_up) noexcept;

    // Hint before an edge: fetches the waiter it will wake, and the frames in which it resumes.
    void prefetch_waiter() const noexcept;

    // Makes the waiters of that generation try again, because something else that they check has
    // changed.
    void nudge(const atomic<uint64_t>& file_word, uint32_t generation) noexcept;

    // nudge() for a new deadline: keeps drained.
    void look_again(const atomic<uint64_t>& file_word, uint32_t generation) noexcept;

    // nudge() for any generation.
    void wake_all() noexcept;

    // These two: for select.
    [[nodiscard]] guarded_word& lock_word() noexcept { return word_; }

    [[nodiscard]] wait_queue& waiters() noexcept { return waiters_; }

    [[nodiscard]] uint32_t waiters_for_test() noexcept;

private:
    friend class poll_desc;

    void nudge_for(const atomic<uint64_t>& file_word, uint32_t generation, bool stays_drained) noexcept;
    void wake_next() noexcept;
    [[nodiscard]] waiter* renew_locked() noexcept WEFT_REQUIRES(word_);
    void forget_waiters() noexcept;

    mutable guarded_word word_;
    atomic<uint32_t> drained_{1};  // an edge count; 1: not drained
    atomic<bool> hung_up_{false};  // written under the lock
    wait_queue waiters_;           // guarded by word_
};

}  // namespace weft::detail
