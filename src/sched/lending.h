// lending.h: priority inheritance: a mutex's holder runs in the class of its most urgent waiter.
//
// A low G holds a mutex and is queued, and a high G wants the mutex. Without inheritance the high G
// would wait for all normal ones.
//
// The mutex must know its holder for that, which costs a store on the fast path. So it is recorded
// only after a class other than normal was used in the process (classes_used). It cannot be a
// pointer: any thread may unlock a mutex, and the holder and its runtime may have ended long
// before. It is the number of a record that is never freed, and a generation, which changes when
// the record's G ends.
//
//     mutex                      record                                    G
//     holder: 3 | generation ──▶ lock, G, how many it holds, what it ──▶   special: high, low
//                                waits for, the class lent to it
//
// Both sides hold the mutex's guard. A waiter sets a bit in the mutex's word for its class, and
// lends that class to the holder, if known. A thread that takes the mutex records itself as holder,
// and takes what those bits say. At a hand-off, the old holder records the new one before it makes
// it ready, so that it is queued in the class lent to it. The bit `recorded` says that the holder
// is known, and sends unlock() to the slow path, which forgets it. Where classes are not used,
// lock() costs one load of a word that is never written, and unlock() nothing.
//
// A queued holder moves to the queue of its new class at once: see Raised, in classes.h.
//
// A G keeps what is lent until it holds no recorded mutex, since it may hold another one for the
// same waiter. The class bits are cleared together with the waiting bit. So until the queue is
// empty, a waiter that has given up may still count, and a holder may run in too high a class while
// it holds the mutex.
//
// If the holder waits for another mutex, that one's holder inherits, too: the record says what it
// waits for, and lend() follows. It stops at a holder that is high enough, which also ends cycles.
// It does not hold the guard of that mutex, so it leaves a bit beside the holder's handle, for
// threads that get the mutex before the waiter does.
//
// A plain thread lends as a normal G and is lent nothing: the kernel schedules it.
//
// A generation has eight bits. If a holder ends without unlocking, and the mutex is unlocked after
// a multiple of 255 other Gs have had its record, one of these may be taken for the holder. It then
// runs in a wrong class until it holds nothing, or returns to its own class early. Nothing else
// depends on it.
//
// Rejected. A table of all locked mutexes: a lookup and an insertion for each lock, once classes
// are used. Pointers to holders: 8 bytes more, and they dangle. Lending to all Gs for a time: the
// normal ones are the ones in the way.
//
// Invariants: I1. record.g is a G of that generation that has not ended, or nullptr.
//             I2. special's class bits of a G with a record are the higher of its own and
//                 record.lent; changed under record.lock.
//             I3. record.waits_for is the holder word of a mutex that still exists: its G is inside
//                 lock().
// Locks:      record.lock after a mutex's guard; one record's at a time. registry (leaf).
// Threads:    see each.
// See:        docs/priorities.md
#pragma once

#include <cstdint>

#include <weft/detail/lending.h>
#include <weft/priority.h>

#include "base/atomic.h"

namespace weft::detail {

struct G;

// A record's number and generation. 0: no holder.
using holder_handle = uint32_t;

// What lend() leaves in a mutex's holder word, above the handle: a G of this class waits through a
// waiter of this mutex.
namespace passed_by {
inline constexpr uint32_t high = 1U << 31;
inline constexpr uint32_t normal = 1U << 30;
inline constexpr uint32_t any = high | normal;
}  // namespace passed_by

// The caller's class as a waiter, with what is lent to it; a plain thread's is normal.
[[nodiscard]] priority class_of_caller() noexcept;

// False for a value cast from some other number.
[[nodiscard]] constexpr bool is_class(priority p) noexcept { return p <= priority::low; }

// True if a runs before b.
[[nodiscard]] constexpr bool above(priority a, priority b) noexcept {
    constexpr int rank[] = {1, 2, 0};  // normal, high, low
    return rank[static_cast<int>(a)] > rank[static_cast<int>(b)];
}

// The caller's handle, made at need. 0: a plain thread, or no memory.
[[nodiscard]] holder_handle handle_of_caller() noexcept;

// The handle of g, which waits; 0: it has no handle.
[[nodiscard]] holder_handle handle_of(const G* g) noexcept;

// The G with this handle holds one recorded mutex more or less. Any thread; no effect if it has
// ended.
void count_held(holder_handle who, int change) noexcept;

// Lends c to the G with this handle, and along the chain. Any thread.
void lend(holder_handle who, priority c) noexcept;

// The caller, which gets a handle at need, is about to wait for the mutex with this holder word, or
// (nullptr) no longer waits.
void set_waits_for(atomic<uint32_t>* holder) noexcept;

// g, with trait::recorded, no longer waits for a mutex, but has not run: its runtime ends. Any
// thread.
void waits_for_nothing(const G& g) noexcept;

// The G with this handle; nullptr if it has ended. Any thread; the G may end right after.
[[nodiscard]] const G* whose(holder_handle h) noexcept;

// The holder of the mutex that g waits for, if both are known: see RUN_DEBUG=lockowners. Any
// thread; it may change right after.
[[nodiscard]] const G* holder_awaited_by(const G& g) noexcept;

// g, with trait::recorded, has ended or will never run again: its handle becomes invalid.
void drop_record(G& g) noexcept;

// Sets g's own class. By g, or its creator.
void set_own_class(G& g, priority c) noexcept;

// g's class as set, and as queued.
[[nodiscard]] priority own_class(const G& g) noexcept;
[[nodiscard]] priority queued_class(const G& g) noexcept;

}  // namespace weft::detail
