// poll_side.h: one direction of a file that green threads wait for: who waits, and how often something has changed.
//
// The problem. A file's readiness comes as edges (backend.h), to any thread, at any moment: while a green thread is about to wait for it, or
// has just been woken, while another one reads. None may be lost, and a call that need not wait should cost little beyond its system call.
//
// Trying and waiting. Each direction counts its edges. A call
//
//   I1  reads the count
//   I2  tries: the system call. Done, unless it says that it would have to wait
//   I3  takes the direction's lock. If the count is not what it was at I1, an edge has come since: to I1
//   I4  joins the queue and parks; the lock is freed when it is parked
//   I5  woken: to I1
//
// and an edge takes the lock, counts, and wakes the first in the queue. An edge before I1 is seen by I2, one after it by I3, or it
// finds the waiter: so none is lost, whatever else happened to the descriptor meanwhile.
//
// One after the other. An edge says only that there is something; if it is enough for one of those who wait, waking all would
// have all but one try for nothing. So it wakes one; and whoever was woken, and did not find that it would have to wait, wakes the next
// one before it goes on (pass_on). Who finds nothing more ends that: there will be another edge.
//
// Drained. On a stream a read that returns less than it could take has emptied it, unless the other side has hung up (then its end is
// still to be read), or, on a Unix socket, the read has stopped where descriptors came along, which it says. Such a call leaves the
// count of I1 in drained: as long as there is no edge the next one knows that I2 is in vain, and begins with I3. So a server that
// reads a request, answers, and reads the next one makes one system call less for each. A new deadline is an edge, so that who is
// about to wait looks at it; but it brings nothing, and drained goes along with the count.
//
// Rejected. Waking everybody at each edge. A lock for each direction that is held for the whole call, so that one tries at a time (Go): two
// more atomic operations for each call.
//
// Invariants: S1. While the queue is not empty, the bit waiting is set. (A waiter whose time was up may leave it set.)
//             S2. An edge is only counted for the file that the number means then: the generation in word changes with the lock held.
// Ordering:   R1 (an edge is counted) pairs with A1 (the count is read): hung_up is seen, and whatever was written before nudge() or
//             wake_all().
// Who:        any thread.
// See:        docs/netpoll.md, test/model/poll_side_model.cc
#pragma once

#include <cstdint>

#include <weft/detail/spin_lock.h>
#include <weft/detail/wait.h>

#include "base/atomic.h"

namespace weft::detail {

// The word of a file (poll_desc.h) has its generation in the upper half.
inline constexpr unsigned generation_shift = 32;

[[nodiscard]] constexpr uint32_t generation_of(uint64_t file_word) noexcept {
    return static_cast<uint32_t>(file_word >> generation_shift);
}

// A reading (and accepting), or a writing (and connecting) one.
class poll_side {
public:
    // The lock, and these bits: who waits, and the count of edges.
    static constexpr uint32_t waiting = 2;
    static constexpr uint32_t edge = 4;
    static constexpr uint32_t edges_mask = ~(edge - 1);

    [[nodiscard]] static constexpr uint32_t edges_of(uint32_t bits) noexcept { return bits & edges_mask; }

    // I1. A1.
    [[nodiscard]] uint32_t edges() const noexcept { return edges_of(word_.word().load(acquire)); }

    // Whether a call that has seen so many edges would try in vain.
    [[nodiscard]] bool is_drained(uint32_t seen) const noexcept {
        return drained_.load(relaxed) == seen && !hung_up_.load(relaxed);  // relaxed: a later edge corrects it; A1
    }

    // A call that had seen so many edges has left nothing.
    void set_drained(uint32_t seen) noexcept { drained_.store(seen, relaxed); }  // relaxed: as above

    // I3 and I4: waits until an edge comes after those that were seen, and returns served, also at once.
    [[nodiscard]] wait_result wait_after(uint32_t seen, wait_reason reason, int64_t deadline_ns) noexcept;

    // To be called by who was woken, or was not, and has found something: wakes the next one. Costs a load while nobody waits.
    void pass_on() noexcept {
        if ((word_.word().load(relaxed) & waiting) != 0) [[unlikely]]  // relaxed: who comes later finds what we found
            wake_next();
    }

    // An event, for the file of that generation: counts an edge. Returns who is woken by it, to be made ready; nullptr: nobody.
    [[nodiscard]] waiter* count_edge(const atomic<uint64_t>& file_word, uint32_t generation, bool hung_up) noexcept;

    // A hint: an edge will be counted soon. Fetches who is woken by it into the cache, with the frames that it goes on in.
    void prefetch_waiter() const noexcept;

    // Those who wait try again, as something else has changed that they look at; for the file of that generation.
    void nudge(const atomic<uint64_t>& file_word, uint32_t generation) noexcept;

    // As nudge(), when nothing has happened to the file: a deadline is another one. What a read has emptied stays so.
    void look_again(const atomic<uint64_t>& file_word, uint32_t generation) noexcept;

    // As nudge(), for whatever file.
    void wake_all() noexcept;

    // What guards it, and who waits: for a select.
    [[nodiscard]] guarded_word& lock_word() noexcept { return word_; }

    [[nodiscard]] wait_queue& waiters() noexcept { return waiters_; }

    // How many wait.
    [[nodiscard]] uint32_t waiters_for_test() noexcept;

private:
    friend class poll_desc;

    void nudge_for(const atomic<uint64_t>& file_word, uint32_t generation, bool stays_drained) noexcept;
    void wake_next() noexcept;
    [[nodiscard]] waiter* renew_locked() noexcept;
    void forget_waiters() noexcept;

    mutable guarded_word word_;
    atomic<uint32_t> drained_{1};  // the count of edges …; 1: no
    atomic<bool> hung_up_{false};  // written under the lock
    wait_queue waiters_;           // guarded by word_
};

}  // namespace weft::detail
