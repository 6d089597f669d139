// prng.h: the runtime's only source of randomness: a small seeded generator, one per M.
//
// xorshift64* (Vigna 2014), not for secrets. A run with one M and a known seed can be repeated.
//
// Threads: the owner.
#pragma once

#include <cstdint>

namespace weft::detail {

class prng {
public:
    explicit prng(uint64_t seed) noexcept : state_(seed * 0x9E3779B97F4A7C15u + 0x2545F4914F6CDD1Du) {
        if (state_ == 0) state_ = 1;
    }

    [[nodiscard]] uint32_t next() noexcept {
        state_ ^= state_ >> 12;
        state_ ^= state_ << 25;
        state_ ^= state_ >> 27;
        return static_cast<uint32_t>((state_ * 0x2545F4914F6CDD1Du) >> 32);
    }

    // Requires: n > 0. The bias is below n / 2^32.
    [[nodiscard]] uint32_t below(uint32_t n) noexcept { return static_cast<uint32_t>((uint64_t{next()} * n) >> 32); }

private:
    uint64_t state_;
};

}  // namespace weft::detail
