// lock_order.h: whether the locks of a schedule were taken in orders that can deadlock.
//
// Problem. Two green threads that take the locks a and b in different orders deadlock only in some
// schedules. Any schedule in which both orders occur shows that others deadlock.
//
// A green thread that waits for b while it holds a is an edge from a to b. A cycle of edges of
// different green threads is an inversion (Havelund, "Using Runtime Analysis to Guide Model
// Checking of Java Programs", 2000), unless one of these makes the deadlock impossible:
//
//      a gate      two edges of the cycle were made under the same other lock, at least once
//                  exclusively: their green threads are never there together
//      readers     two green threads share a lock: one holds it and the next asks for it, both as
//                  readers
//      order       one edge has happened before the other, by what is not a lock: a start, a
//                  channel, a wait group and so on (Agarwal and Stoller, "Run-Time Detection of
//                  Potential Deadlocks for Programs with Locks, Semaphores, and Condition
//                  Variables", 2006)
//      one alone   the same green thread made both edges
//      no wait     try_lock, also with a time, does not wait for ever. What it has taken is held,
//                  but no edge leads to it
//
// Operations on the same object count as ordered, as in order.h, so an inversion may be missed in
// one schedule and noticed in another.
//
// The operations of a schedule are logged, which costs little. Nothing else happens unless a green
// thread locks while it holds a lock. Then the log is read when the schedule has ended: first for
// the edges, and for the order only if they form a cycle.
//
// Whether try_lock has succeeded is not logged. It has, if the same green thread unlocks the object
// before it asks for it again, and did not hold it already.
//
// Not looked at: semaphores, because any green thread may release one. A lock that another green
// thread unlocks counts as held until then. Bytes that are in a socket before they are read order
// nothing: an inversion that they make impossible is reported.
//
// Threads: the simulation's M.
// See:     docs/sim.md#lock-order
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <weft/detail/step.h>

namespace weft::sim {

class lock_order {
public:
    enum class event : uint8_t { operation, wake, end };

    struct entry {
        uint32_t g = 0;
        uint32_t other = 0;  // event::wake: g makes it runnable
        event kind = event::operation;
        weft::detail::operation what = weft::detail::operation::run;
        const void* object = nullptr;
    };

    using frames = std::vector<const void*>;

    // One green thread of an inversion.
    struct edge {
        uint32_t g = 0;
        const void* held = nullptr;
        const void* wanted = nullptr;
        std::size_t held_at = 0;  // in the log
        std::size_t wanted_at = 0;
        frames held_frames{};  // if they were logged
        frames wanted_frames{};
    };

    using inversion = std::vector<edge>;  // each wants what the next one holds; empty: none

    void clear() noexcept;

    // g begins an operation. where: the frames of g, or nullptr.
    void operate(uint32_t g, weft::detail::operation what, const void* object, const frames* where);
    void make_runnable(uint32_t g, uint32_t other);
    // What is at that address later is another object.
    void end(const void* object);

    [[nodiscard]] inversion find() const;

private:
    struct logged_frames {
        std::size_t at;
        frames where;
    };

    void log(const entry& e);
    [[nodiscard]] const frames* frames_at(std::size_t at) const noexcept;

    std::vector<entry> log_;
    std::vector<logged_frames> frames_;  // of operations on locks, by increasing `at`
    std::vector<uint32_t> depth_;        // by green thread: locks that it holds, at most
    bool nested_ = false;                // a green thread locked while it held a lock
};

}  // namespace weft::sim
