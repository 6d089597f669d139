// opaque.h: values of which the compiler knows nothing.
#pragma once

namespace weft::test {

// Passes value through without letting the compiler know that.
template <typename T>
[[nodiscard]] inline T opaque(T value) noexcept {
    T hidden = value;
    asm volatile("" : "+m"(hidden) : : "memory");
    return hidden;
}

}  // namespace weft::test
