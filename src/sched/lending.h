// lending.h: priority inheritance: whoever holds a mutex runs in the class of the highest that waits for it.
//
// The problem. A low G holds a mutex and is queued. A high one wants it. Between the two are normal ones, of which there are always more:
// the high one waits for all of them. So the waiter lends its class to the holder.
//
// For that a mutex has to know who holds it, which it does not: a store on the fast path that nobody needs as long as all are of
// the same class. So it is remembered only once another class was used in the process (classes_used). And it must not be a pointer: a
// mutex may be unlocked by somebody else than its holder, who may have ended long before, its runtime too. So it is the number of a
// record that is never freed, with a generation: that of a G that has ended is another one.
//
//     mutex                      record                                    G
//     holder: 3 | generation ──▶ lock, G, how many it holds, what it ──▶   special: high, low
//                                waits for, the class lent to it
//
// Both sides hold the mutex's guard. Who waits sets a bit in its word that says in which class, and lends to the holder, if it is known.
// Who has taken the mutex writes itself down as the holder, and takes what those bits say. A mutex that is handed over gets its holder
// from the one that hands it over, before that one makes the new holder ready: so it is queued in the class that was lent to it. The
// bit recorded says that the holder is known, and leads unlock() to the slow path, which forgets it. So where classes are
// not used, lock() pays for one look at a word that nobody writes, and unlock() for nothing.
//
// A holder that is queued is moved to the queue of its new class at once: Raised, in classes.h.
//
// What is lent is given back when the G holds no recorded mutex any more; not before, since it may hold another one for the same waiter. The
// bits are cleared with the waiting bit, so a waiter that has given up may be remembered until the queue is empty: then somebody runs in
// a higher class than is due, for as long as it holds the mutex.
//
// If the holder waits for another mutex, that one's holder inherits as well: the record says what it waits for, and lend() goes on
// there, until somebody is high enough already, which also ends a walk in a circle. The walk does not hold that mutex's guard: it
// leaves a bit beside the holder's name, for those who hold it before the one that waits does.
//
// A plain thread lends as a normal G, and is lent nothing: the system schedules it.
//
// A generation has eight bits. So a mutex whose holder has ended without unlocking it, and that is unlocked by another one after a
// multiple of 255 others have had the same record, may take one of these for its holder: that one runs in a class that is not due to it
// until it holds nothing any more, or goes back to its own early. Nothing else depends on it.
//
// Rejected. A table of all locked mutexes: a look-up and an insertion on each lock, once classes are used. Pointers to holders in the mutex: 8 bytes more, and
// dangling ones. Lending the class to everybody for a while: it is those between that are in the way.
//
// Invariants: I1. record.g is a G of that generation which has not ended, or nullptr.
//             I2. special's class bits of a G with a record are the higher of its own and record.lent; changed under record.lock.
//             I3. record.waits_for is the holder word of a mutex that cannot go: its G is inside lock().
// Locks:      record.lock after a mutex's guard; one record's at a time. registry (leaf).
// Who:        see each.
// See:        docs/priorities.md
#pragma once

#include <cstdint>

#include <weft/detail/lending.h>
#include <weft/priority.h>

#include "base/atomic.h"

namespace weft::detail {

struct G;

// A record's number and generation. 0: nobody.
using holder_handle = uint32_t;

// What a walk leaves in a mutex's holder word, above the handle: that somebody of this class waits by way of one who waits for it.
namespace passed_by {
inline constexpr uint32_t high = 1U << 31;
inline constexpr uint32_t normal = 1U << 30;
inline constexpr uint32_t any = high | normal;
}  // namespace passed_by

// The class in which the caller waits: as lent to it; normal for a plain thread.
[[nodiscard]] priority class_of_caller() noexcept;

// False of what a cast has made of some other number.
[[nodiscard]] constexpr bool is_class(priority p) noexcept { return p <= priority::low; }

// Whether a runs before b.
[[nodiscard]] constexpr bool above(priority a, priority b) noexcept {
    constexpr int rank[] = {1, 2, 0};  // normal, high, low
    return rank[static_cast<int>(a)] > rank[static_cast<int>(b)];
}

// The caller's handle, which it gets if it has none; 0 for a plain thread, or if there is no memory.
[[nodiscard]] holder_handle handle_of_caller() noexcept;

// That of g, which waits, if it has one; else 0.
[[nodiscard]] holder_handle handle_of(const G* g) noexcept;

// Whose handle it is holds one more recorded mutex, or one less. Any thread; nothing happens if it has ended.
void count_held(holder_handle who, int change) noexcept;

// Lends c to whose handle it is, and on. Any thread.
void lend(holder_handle who, priority c) noexcept;

// The caller, who gets a handle if it has none, is about to wait for the mutex with this holder word, or (nullptr) does so no longer.
void set_waits_for(atomic<uint32_t>* holder) noexcept;

// g, which has trait::recorded, waits for no mutex any more, though it has not run since: its runtime ends. Any thread.
void waits_for_nothing(const G& g) noexcept;

// Whose handle it is; nullptr if it has ended. Any thread; it may end a moment later.
[[nodiscard]] const G* whose(holder_handle h) noexcept;

// Who holds the mutex that g waits for, if both are known: see RUN_DEBUG=lockowners. Any thread; a moment later it may be another one.
[[nodiscard]] const G* holder_awaited_by(const G& g) noexcept;

// g has ended, or will never run again: its handle is nobody's. With trait::recorded.
void drop_record(G& g) noexcept;

// g's own class becomes c. By itself, or by who makes it.
void set_own_class(G& g, priority c) noexcept;

// g's class as set, and as queued.
[[nodiscard]] priority own_class(const G& g) noexcept;
[[nodiscard]] priority queued_class(const G& g) noexcept;

}  // namespace weft::detail
