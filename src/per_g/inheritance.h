// inheritance.h: a mutex's holder runs in the class of its most urgent waiter.
//
// A holder is recorded only once a class other than normal was used in the process (classes_used).
// The mutex stores the number of a record, never freed, and a generation, which changes when the
// record's G ends: any thread may unlock, long after that.
//
//     mutex                      record                                    G
//     holder: 3 | generation ──▶ lock, G, how many it holds, what it ──▶   special: high, low
//                                waits for, the class lent to it
//
// Both sides hold the mutex's guard. A waiter sets a bit for its class in the mutex's word, and
// lends its class to a known holder. A new holder records itself, and takes what those bits say. At
// a hand-off the old holder does this before it makes the new one ready, which is thus queued in
// that class. The bit `recorded` sends unlock() to the slow path.
//
// A queued holder moves to the queue of its new class at once: Raised, in priority_queues.h.
//
// A G keeps what is lent until it holds no recorded mutex, because the same waiter may need another
// one. The class bits are cleared with the waiting bit, so until the queue is empty, a waiter that
// gave up may count.
//
// If the holder waits for another mutex, lend() continues with that one's holder. It stops at a
// holder that is high enough, which also ends cycles. It does not hold the guard of that mutex; for
// holders that come before the waiter, it leaves a bit beside the handle.
//
// A plain thread lends as a normal G and is lent nothing.
//
// A generation has eight bits. If a holder ends without unlocking, and a multiple of 255 Gs have
// had its record before the unlock, one of them may pass for the holder, and run in a wrong class
// for a while. Nothing else depends on it.
//
// Rejected. A table of locked mutexes: a lookup and an insertion for each lock. Pointers to
// holders: 8 bytes more, and they dangle. Lending to all Gs for a while: the normal ones are in the
// way.
//
// Invariants: I1. record.g is a G of that generation that has not ended, or nullptr.
//             I2. special's class bits of a G with a record are the higher of its own and
//                 record.lent; changed under record.lock.
//             I3. record.waits_for is a living mutex's holder word: its G is inside lock().
// Locks:      record.lock after a mutex's guard; one record's at a time. registry (leaf).
// Threads:    see each.
// See:        docs/priorities.md
#pragma once

#include <cstdint>

#include <weft/detail/inheritance.h>
#include <weft/priority.h>

#include "base/atomic.h"

namespace weft::detail {

struct G;

// A record's number and generation. 0: no holder.
using holder_handle = uint32_t;

// Left by lend() above the handle: a G of this class waits through a waiter of this mutex.
namespace passed_by {
inline constexpr uint32_t high = 1U << 31;
inline constexpr uint32_t normal = 1U << 30;
inline constexpr uint32_t any = high | normal;
}  // namespace passed_by

// The caller's class with what is lent to it; normal for a plain thread.
[[nodiscard]] priority class_of_caller() noexcept;

// False for other numbers.
[[nodiscard]] constexpr bool is_class(priority p) noexcept { return p <= priority::high; }

// True if a runs before b.
[[nodiscard]] constexpr bool above(priority a, priority b) noexcept { return a > b; }

// The caller's handle, made at need. 0: a plain thread, or no memory.
[[nodiscard]] holder_handle handle_of_caller() noexcept;

// The handle of g, which waits or is the caller; 0: none yet.
[[nodiscard]] holder_handle handle_of(const G* g) noexcept;

// The G with this handle, unless it has ended, holds one recorded mutex more or less. Any thread.
void count_held(holder_handle who, int change) noexcept;

// Lends c to the G with this handle, and along the chain. Any thread.
void lend(holder_handle who, priority c) noexcept;

// The caller will wait for the mutex with this holder word; nullptr: it waits no longer.
void set_waits_for(atomic<uint32_t>* holder) noexcept;

// g, with trait::recorded, has not run but waits no longer: its runtime ends. Any thread.
void waits_for_nothing(const G& g) noexcept;

// The G with this handle; nullptr if it has ended. Any thread; it may end right after.
[[nodiscard]] const G* whose(holder_handle h) noexcept;

// The holder, if known, of the mutex that g waits for. Any thread; may change right after.
[[nodiscard]] const G* holder_awaited_by(const G& g) noexcept;

// g, with trait::recorded, will not run again: its handle becomes invalid.
void drop_record(G& g) noexcept;

// By g, or its creator.
void set_own_class(G& g, priority c) noexcept;

// g's class as set, and as queued.
[[nodiscard]] priority own_class(const G& g) noexcept;
[[nodiscard]] priority queued_class(const G& g) noexcept;

// fork.h, F3.
void free_inheritance_lock() noexcept;

}  // namespace weft::detail
