// step.h: the points before operations at which a simulation may run another green thread.
//
// Problem. Code that only switches where it must wait shows few of its possible orders. A lock that
// is taken without waiting, between another's two steps, is where the bugs are. So every operation
// on a channel, mutex or other object begins with a step.
//
// Outside of simulations a step is a comparison of a word that rarely changes and a jump that is
// not taken.
//
// Rejected: types of their own for tests, as in loom and Shuttle: what is tested is then another
//           program. Patching the machine code at each step: it must be writable.
//
// Threads: any thread; only a simulation's own green threads are affected.
// See:     docs/sim.md, src/sched/simulation.h
#pragma once

#include <cstdint>

#include <weft/detail/atomic.h>
#include <weft/detail/require.h>

namespace weft::detail {

// What an operation does to its object.
enum class operation : uint8_t {
    start,
    run,  // after a wait, or after another green thread was chosen
    yield,
    chan_send,
    chan_receive,
    chan_close,
    chan_read,  // its length, or whether it is closed
    select,
    mutex_lock,
    mutex_try_lock,
    mutex_unlock,
    shared_mutex_lock,
    shared_mutex_try_lock,
    shared_mutex_lock_shared,
    shared_mutex_try_lock_shared,
    shared_mutex_unlock,
    semaphore_acquire,
    semaphore_release,
    condition_wait,
    condition_notify,
    count_add,
    count_wait,
    event_set,
    event_wait,
    latch,
    barrier,
    once,
    timer,
    cancel,
    checkpoint,
    value_read,  // weft::sim::shared
    value_write,
    socket_send,
    socket_receive,
    socket_accept,
    socket_connect,
    socket_close,
};

#if !defined(WEFT_MODEL)

// How many simulations exist in this process.
extern atomic<uint32_t> simulations;

// The calling green thread may be replaced by another one. Not with a lock of the runtime held.
void take_step(operation what, const void* object) noexcept;

// No operation on the object follows, so its address may become that of another one.
void note_end(const void* object) noexcept;

// The caller has done that within a step of something else: unlocked the lock of a condition
// variable, or what select() chose.
void note_done(operation what, const void* object) noexcept;

// One instruction and its jump. GCC makes two of the load of an atomic.
[[nodiscard, gnu::always_inline]] inline bool simulates() noexcept {
#if defined(__x86_64__) && defined(__GNUC__)
    __asm__ goto("cmpl $0, %0\n\tjne %l1" : : "m"(simulations) : "cc" : some);
    return false;
some:
    return true;
#else
    return simulations.load(relaxed_hint) != 0;
#endif
}

[[gnu::always_inline]] inline void step(operation what, const void* object) noexcept {
    if (simulates()) [[unlikely]]
        take_step(what, object);
}

// For the destructor of a lock.
[[gnu::always_inline]] inline void lock_ends(const void* object) noexcept {
    if (simulates()) [[unlikely]]
        note_end(object);
}

#else
constexpr bool simulates() noexcept { return false; }

inline void take_step(operation /*what*/, const void* /*object*/) noexcept {}

inline void step(operation /*what*/, const void* /*object*/) noexcept {}

inline void lock_ends(const void* /*object*/) noexcept {}

inline void note_done(operation /*what*/, const void* /*object*/) noexcept {}
#endif

}  // namespace weft::detail
