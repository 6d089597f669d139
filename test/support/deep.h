// deep.h: uses much of the stack.
#pragma once

#include <cstddef>
#include <functional>

namespace weft::test {

// Recurses until that many bytes of stack are in use, then calls bottom(). Returns the number of
// calls below the first. Cannot become a loop: each frame's buffer is in use until the call
// returns.
[[gnu::noinline]] inline int deep(std::size_t bytes, const std::function<void()>& bottom) {
    std::byte some[1024];
    asm volatile("" : : "r"(some) : "memory");
    int calls = 0;
    if (bytes <= sizeof(some)) {
        bottom();
    } else {
        calls = deep(bytes - sizeof(some), bottom) + 1;
    }
    asm volatile("" : : "r"(some) : "memory");
    return calls;
}

inline int deep(std::size_t bytes) {
    return deep(bytes, [] {});
}

}  // namespace weft::test
