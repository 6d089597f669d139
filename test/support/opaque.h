// opaque.h: values unknown to the compiler.
#pragma once

namespace weft::test {

// Returns value, hidden from the optimizer.
template <typename T>
[[nodiscard]] inline T opaque(T value) noexcept {
    T hidden = value;
    asm volatile("" : "+m"(hidden) : : "memory");
    return hidden;
}

}  // namespace weft::test
