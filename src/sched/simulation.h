// simulation.h: what a scheduler asks the simulation that controls it.
//
// A simulated scheduler has one P and one M, so exactly one of its green threads runs at a time. It
// has no queues: each G that becomes runnable is handed to the simulation, which chooses what runs
// next, and which keeps the time. Everything else is the scheduler's own code: switches, objects,
// timers, cancellation.
//
// Protocol, all on the one M:
//
//      a G becomes runnable          push(g)            from push_apart, by special::shuffled
//      g0 needs a G                  next()
//      an operation begins           replaces(...)      true: the G yields, and next() is asked
//      a draw (select, ties)         choose(n)
//      the time is asked             now_ns
//
// Gs that were started before the simulation took over do not have the bit, and must not run before
// it ends. The exception is the driver, which begins it: it gets the bit, is not one of the test's,
// and is what next() returns when a schedule is over.
//
// The time moves in next() only, to the next timer, if no G is runnable. So it does not depend on
// how fast anything runs.
//
// Invariants: S1  While a simulation runs, its M is the only thread that runs the scheduler's Gs:
//                 it does not retake, hand off or pin.
//             S2  Every choice that the scheduler makes is a function of what choose(), next() and
//                 replaces() returned before.
//
// Threads: the simulated scheduler's M. simulations: any.
// See:     docs/sim.md
#pragma once

#include <cstdint>

#include <weft/detail/step.h>

#include "os/os.h"

namespace weft::detail {

struct G;
struct M;
struct scheduler;
class simulated_fds;
class simulated_runtimes;
struct waiter;

class simulation {
public:
    simulation() = default;
    virtual ~simulation() = default;
    simulation(const simulation&) = delete;
    simulation& operator=(const simulation&) = delete;

    virtual void push(G* g) noexcept = 0;
    [[nodiscard]] virtual G* next() noexcept = 0;
    // g, which runs, is about to begin an operation.
    [[nodiscard]] virtual bool replaces(G* g, operation what, const void* object) noexcept = 0;
    // An object ends. Caller: any G of the simulation.
    virtual void object_ends(const void* object) noexcept = 0;
    // The G that runs has done that, within a step of something else: unlocked the lock of a
    // condition variable, or what select() chose.
    virtual void has_done(operation what, const void* object) noexcept = 0;
    // A number below n, n > 1. Not for the driver.
    [[nodiscard]] virtual uint32_t choose(uint32_t n) noexcept = 0;
    // g's function ended by an exception, which is the current one.
    virtual void failed(const G* g) noexcept = 0;
    // g, which runs, has ended but for its last switch.
    virtual void ended(const G* g) noexcept = 0;
    // The running G does what cannot be repeated. what: a verb and its object.
    virtual void escapes(const char* what) noexcept = 0;
    // Its descriptors; nullptr: the process has no numbers left for them.
    [[nodiscard]] virtual simulated_fds* fds() noexcept = 0;
    // nullptr: the caller is the driver.
    [[nodiscard]] virtual simulated_runtimes* runtimes() noexcept = 0;
    // g was made by the G that runs, and begins when a wait ends.
    virtual void made(G* g) = 0;
    // The G that runs computes, and asks whether it should end. True: it should yield.
    [[nodiscard]] virtual bool passes_time() noexcept = 0;

    int64_t now_ns = 0;
    M* only_m = nullptr;  // set by begin_simulation: the one that runs the scheduler's Gs
};

// Makes sim control the caller's scheduler, which has one P, until end_simulation. Affects Gs that
// are started afterwards. Caller: a G, which becomes the driver.
void begin_simulation(simulation& sim) noexcept;
void end_simulation(simulation& sim) noexcept;

// The simulation that controls the calling G; nullptr: none.
[[nodiscard]] simulation* controlling() noexcept;

[[nodiscard]] inline simulation* current_simulation() noexcept {
    return simulations.load(relaxed_hint) == 0 ? nullptr : controlling();
}

// Whether a simulation controls the caller. It fails then, because the caller does what: a verb and
// its object.
[[nodiscard]] inline bool escapes_simulation(const char* what) noexcept {
    simulation* s = current_simulation();
    if (s != nullptr) s->escapes(what);
    return s != nullptr;
}

// The waits of m's scheduler are being ended. False: in a simulation, not those of the calling G,
// on m, because it is in another runtime.
[[nodiscard]] bool stop_is_for_caller(const M* m) noexcept;

// Computing takes no time in a simulation. So what a computation calls to see whether it should end
// does, if it is called often.
void let_time_pass() noexcept;

// The caller's G, on m, gives way to what the simulation chooses.
void requeue(M* m) noexcept;

// Makes m's simulation have its time: fires the timers that are due. Returns their number.
uint32_t fire_simulated(M* m) noexcept;

// Readies g, whose wait has been ended. Caller: a G of m.
void ready_simulated(M* m, G* g) noexcept;

// Readies waiters, linked by next, which are Gs of m. Caller: one of its Gs, or its g0.
void ready_simulated(M* m, waiter* chain) noexcept;

[[nodiscard]] int64_t simulated_or_real_ns() noexcept;

// The time of the caller, for deadlines and sleeps.
[[nodiscard]] inline int64_t clock_ns() noexcept {
    if (simulations.load(relaxed_hint) == 0) [[likely]]
        return os::monotonic_ns();
    return simulated_or_real_ns();
}

}  // namespace weft::detail
