// random.h: repeatable randomness for tests.
//
// A test makes all random decisions from one seed and prints it. WEFT_SEED, if set, repeats them
// (but not the system's scheduling).
#pragma once

#include <cstdint>

namespace weft::test {

// splitmix64: one word of state, cheap enough for one per green thread.
class prng {
public:
    explicit constexpr prng(uint64_t seed) noexcept : state_(seed) {}

    constexpr uint64_t next() noexcept {
        uint64_t z = (state_ += 0x9e3779b97f4a7c15U);
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
        return z ^ (z >> 31);
    }

    // A number in [0, bound), bound above zero.
    constexpr int below(int bound) noexcept { return static_cast<int>(next() % static_cast<uint64_t>(bound)); }

    constexpr bool one_in(int n) noexcept { return below(n) == 0; }

    // A separate generator for a part of the test.
    constexpr prng split() noexcept { return prng(next()); }

private:
    uint64_t state_;
};

// WEFT_SEED, or else a new seed. Prints the command that repeats the running test.
[[nodiscard]] uint64_t announced_seed();

}  // namespace weft::test
