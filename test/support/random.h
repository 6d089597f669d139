// random.h: repeatable randomness for tests.
//
// A test that decides at random takes all of its decisions from one seed, prints it, and takes it from WEFT_SEED when
// that is set: the same decisions again (the operating system's scheduling is not repeated).
#pragma once

#include <cstdint>

namespace weft::test {

// splitmix64: one word of state, good enough to shuffle work, cheap enough to have one per green thread.
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

    // A generator of its own for a part of the test.
    constexpr prng split() noexcept { return prng(next()); }

private:
    uint64_t state_;
};

// WEFT_SEED, else a fresh one. Prints it with the command that repeats the running test.
[[nodiscard]] uint64_t announced_seed();

}  // namespace weft::test
