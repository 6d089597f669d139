// inheritance.h: priority inheritance: a mutex's holder runs in the class of its most urgent waiter.
//
// Otherwise a high G would wait for all normal Gs that run before a low holder.
//
// A mutex must know its holder, which costs a store on the fast path. So the holder is recorded
// only once a class other than normal was used in the process (classes_used). Any thread may
// unlock, long after the holder and its runtime have ended. So the mutex stores no pointer but the
// number of a record, never freed, and a generation, which changes when the record's G ends.
//
//     mutex                      record                                    G
//     holder: 3 | generation ──▶ lock, G, how many it holds, what it ──▶   special: high, low
//                                waits for, the class lent to it
//
// Both sides hold the mutex's guard. A waiter sets a bit for its class in the mutex's word, and
// lends its class to a known holder. A new holder records itself, and takes what those bits say. At
// a hand-off the old holder does this before it makes the new one ready, which is thus queued in
// that class. The bit `recorded` says that the holder is known, and sends unlock() to the slow
// path. Without classes, lock() loads a word that is never written, and unlock() pays nothing.
//
// A queued holder moves to the queue of its new class at once: Raised, in priority_queues.h.
//
// A G keeps what is lent until it holds no recorded mutex, because the same waiter may need another
// one. The class bits are cleared with the waiting bit. So until the queue is empty, a waiter that
// gave up may count, and keep a holder in too high a class while it holds the mutex.
//
// If the holder waits for another mutex, lend() continues with that one's holder, to which the
// record leads. It stops at a holder that is high enough, which also ends cycles. It does not hold
// the guard of that mutex; for holders that come before the waiter, it leaves a bit beside the
// handle.
//
// A plain thread lends as a normal G and is lent nothing: the kernel schedules it.
//
// A generation has eight bits. If a holder ends without unlocking, and a multiple of 255 Gs have
// had its record before the unlock, one of them may pass for the holder. Then it runs in a wrong
// class until it holds nothing, or returns to its own too early. Nothing else depends on it.
//
// Rejected. A table of locked mutexes would need a lookup and an insertion for each lock, once
// classes are used. Pointers to holders would take 8 bytes more, and dangle. Lending to all Gs for
// a while would not help: the normal ones are in the way.
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

// The class in which the caller waits, with what is lent to it; normal for a plain thread.
[[nodiscard]] priority class_of_caller() noexcept;

// False for other numbers, cast to a priority.
[[nodiscard]] constexpr bool is_class(priority p) noexcept { return p <= priority::high; }

// True if a runs before b.
[[nodiscard]] constexpr bool above(priority a, priority b) noexcept { return a > b; }

// The caller's handle, made at need. 0: a plain thread, or no memory.
[[nodiscard]] holder_handle handle_of_caller() noexcept;

// The handle of g, which waits; 0: none yet.
[[nodiscard]] holder_handle handle_of(const G* g) noexcept;

// The G with this handle, unless it has ended, holds one recorded mutex more or less. Any thread.
void count_held(holder_handle who, int change) noexcept;

// Lends c to the G with this handle, and along the chain. Any thread.
void lend(holder_handle who, priority c) noexcept;

// The caller, which gets a handle at need, will wait for the mutex with this holder word, or
// (nullptr) waits no longer.
void set_waits_for(atomic<uint32_t>* holder) noexcept;

// g, with trait::recorded, has not run but waits no longer: its runtime ends. Any thread.
void waits_for_nothing(const G& g) noexcept;

// The G with this handle; nullptr if it has ended. Any thread; it may end right after.
[[nodiscard]] const G* whose(holder_handle h) noexcept;

// The holder, if known, of the mutex that g waits for: see RUN_DEBUG=lockowners. Any thread; may
// change right after.
[[nodiscard]] const G* holder_awaited_by(const G& g) noexcept;

// g, with trait::recorded, will not run again: its handle becomes invalid.
void drop_record(G& g) noexcept;

// Sets g's own class. By g, or its creator.
void set_own_class(G& g, priority c) noexcept;

// g's class as set, and as queued.
[[nodiscard]] priority own_class(const G& g) noexcept;
[[nodiscard]] priority queued_class(const G& g) noexcept;

// In the child of fork(): the lock's holder may be gone. lifecycle/fork.h
void free_inheritance_lock() noexcept;

}  // namespace weft::detail
