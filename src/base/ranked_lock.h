// ranked_lock.h: the runtime's own locks, and the order in which a thread may take them.
//
// A thread takes locks in the order of the enumerators below, and only one of each rank: nothing is
// taken under a leaf. Debug builds and the ASan build check that at each lock(), so an order that
// could deadlock fails in every run, not only in the one that deadlocks. Other builds compile to a
// spin_lock.
//
// The locks of objects (channels, mutexes, poll_sides) come before all of these. They are in public
// headers, which programs compile with flags of their own, so they are not checked: see
// sched/scheduler.h for the rule.
//
// Rejected: An order between all locks of the same rank. No two leaves are ever needed together,
//           except the timer queues of a P that dies and of P 0 (lock_second).
// Rejected: Clang's acquired_before. It sees one function at a time.
//
// Threads: any thread that may take a spin_lock.
#pragma once

#include <cstdint>

#include <weft/detail/spin_lock.h>

namespace weft::detail {

enum class lock_rank : uint8_t {
    procs,  // changes of the number of Ps
    idle,   // idle_state
    leaf,   // queues, pools, timers, the list of Ms
};

#if defined(WEFT_DEBUG_CHECKS)
// The calling thread takes or frees a lock of that rank. Fatal if it holds one of the same or of a
// later rank. Out of line: a compiler may keep the address of a thread-local variable across a
// context switch.
void note_ranked_lock(lock_rank rank) noexcept;
void note_ranked_unlock(lock_rank rank) noexcept;
#else
inline void note_ranked_lock(lock_rank /*rank*/) noexcept {}

inline void note_ranked_unlock(lock_rank /*rank*/) noexcept {}
#endif

template <lock_rank Rank>
class WEFT_LOCK_CLASS ranked_lock : public spin_lock {
public:
    void lock() noexcept WEFT_ACQUIRE() WEFT_NO_THREAD_SAFETY_ANALYSIS {
        note_ranked_lock(Rank);
        spin_lock::lock();
    }

    void unlock() noexcept WEFT_RELEASE() WEFT_NO_THREAD_SAFETY_ANALYSIS {
        note_ranked_unlock(Rank);
        spin_lock::unlock();
    }

    // Takes it while another lock of the same rank is held, and frees it again.
    void lock_second() noexcept WEFT_ACQUIRE() WEFT_NO_THREAD_SAFETY_ANALYSIS { spin_lock::lock(); }

    void unlock_second() noexcept WEFT_RELEASE() WEFT_NO_THREAD_SAFETY_ANALYSIS { spin_lock::unlock(); }

    // For a parking G, whose next context frees the lock by unlock_bits(): after_switch.
    [[nodiscard]] guarded_word* hand_over() noexcept {
        note_ranked_unlock(Rank);
        return this;
    }
};

}  // namespace weft::detail
