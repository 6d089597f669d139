// simulated_runtimes.h: runtimes that the green threads of a simulation start.
//
// Many tests start a runtime: in a fixture, or around each case. In a simulation, such a
// weft::runtime has no scheduler of its own. It shares the simulation's, with its M and its clock,
// and the simulation knows which green threads belong to it. So one thread still runs everything,
// and the green threads of several runtimes run in every order.
//
// Rejected: a scheduler for each. Its M would be a second thread (S1), or the one M would change
// its
//           scheduler at switches, which every M would have to check for.
//
// Green threads that are abandoned with their runtime never run again. They stay where they are
// until the simulation ends.
//
// Invariants: S4  A green thread belongs to the runtime through which it was started, else to that
//                 of the green thread that started it, else to none.
//
// Threads: the simulation's M; callers are its green threads.
// See:     docs/sim.md, src/sim/test_runtimes.h
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include <weft/detail/atomic.h>
#include <weft/detail/source_location.h>

namespace weft {

class runtime;
struct stats_snapshot;
struct runtime_options;
struct stop_outcome;

namespace detail {

struct G;
struct scheduler;

class simulated_runtimes {
public:
    simulated_runtimes() = default;
    simulated_runtimes(const simulated_runtimes&) = delete;
    simulated_runtimes& operator=(const simulated_runtimes&) = delete;

    // scheduler: where r keeps its scheduler; reset if r outlives the schedule. procs: 0: the usual
    // number.
    virtual void start(const runtime& r, atomic<scheduler*>& place, unsigned procs) = 0;
    // Whether r was started in this schedule, and runs.
    [[nodiscard]] virtual bool has(const runtime& r) const noexcept = 0;
    // Whether a shutdown of its runtime has begun to end the caller's waits.
    [[nodiscard]] virtual bool stops_caller() const noexcept = 0;
    // Whether the caller is one of r's green threads.
    [[nodiscard]] virtual bool holds_caller(const runtime& r) const noexcept = 0;

    // The next green thread that the caller starts through a runtime, and for which it calls
    // starts(), belongs to r.
    virtual void choose(const runtime& r) = 0;
    virtual void starts(const G& g) = 0;

    // The caller looks at whether r runs, or how many processors it has.
    virtual void looks_at(const runtime& r) const noexcept = 0;

    // weft::main() in a test.
    virtual void run_main(const runtime_options& options,
                          void (*body)(void*),
                          void* closure,
                          source_location where) = 0;

    // Of these, r must be one that has() knows. nullopt: another caller ends it.
    virtual void drain(const runtime& r) = 0;
    [[nodiscard]] virtual std::optional<stop_outcome> stop(const runtime& r, int64_t deadline_ns) = 0;
    [[nodiscard]] virtual std::optional<std::size_t> abandon(const runtime& r) = 0;

    // nullptr: the runtime of the caller, or what belongs to none.
    [[nodiscard]] virtual unsigned procs(const runtime* r) const noexcept = 0;
    virtual unsigned change_procs(const runtime* r, unsigned n) noexcept = 0;
    // Replaces the numbers of green threads in all.
    virtual void count(const runtime* r, stats_snapshot& all) const noexcept = 0;

protected:
    ~simulated_runtimes() = default;
};

}  // namespace detail

}  // namespace weft
