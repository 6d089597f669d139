// random_numbers.h: random numbers of the C library and of std::random_device are the same in each
// run of a schedule.
//
// As clocks.h: this library defines rand, random, getrandom, getentropy, arc4random and their
// relatives, and std::random_device's function, and calls the original ones everywhere but in green
// threads of a simulation. Each schedule begins with the same numbers, until srand() or srandom().
//
// Rejected: numbers that the schedule chooses. A program that tries again until a number fits would
//           get the default, 0, for ever; and what a test wants explored it can ask of
//           weft::sim::choose.
//
// std::random_device: libstdc++'s reads the processor, not the C library. Its function is defined
// here weakly. In a program that links libstdc++ statically the original one wins, so there it is
// not replaced.
//
// Threads: any.
// See:     docs/sim.md
#pragma once

namespace weft::sim {

// Does nothing; a call makes a linker use the functions.
void use_random_numbers() noexcept;

}  // namespace weft::sim
