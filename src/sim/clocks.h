// clocks.h: the clocks and sleeps of the C library know the time of the simulation.
//
// std::chrono, and most other code, ask clock_gettime, gettimeofday or time. This library defines
// these functions, and calls the C library's own ones everywhere but in green threads of a
// simulation. So a deadline that a program computes from std::chrono::steady_clock is the same in
// each run.
//
// nanosleep, usleep and sleep, and so std::this_thread::sleep_for, let other green threads run
// until the simulated time has come. sched_yield is weft::yield. Interrupts end none of them.
//
// Rejected: clocks that only weft's functions know. A deadline of steady_clock::now() + 1s would
//           lie before or after the simulated time.
//
// Threads: any.
// See:     docs/sim.md
#pragma once

namespace weft::sim {

// Does nothing; a call makes a linker use the functions.
void use_clocks() noexcept;

}  // namespace weft::sim
