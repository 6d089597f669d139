// deep.h: using much of the stack.
#pragma once

#include <cstddef>
#include <functional>

namespace weft::test {

// Calls itself until that many bytes of the stack are used; at the bottom, bottom() is called. Returns how many calls of it are below the
// first one. No compiler makes a loop of it: each frame's buffer is in use until the call returns.
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
