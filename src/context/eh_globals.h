// eh_globals.h: the C++ exception state, which travels with a green thread.
//
// A G that parks in a catch block, or during unwinding, would leave its state to the M's next G.
// The Itanium C++ ABI (2.2.2) fixes the layout for libstdc++ and libc++abi.
//
// Threads: the M of that thread.
// See:     docs/context_switch.md
#pragma once

#include <cxxabi.h>

#include <cstdint>

#if defined(_LIBCPP_VERSION)
// libc++abi defines it, but <cxxabi.h> does not declare it.
namespace __cxxabiv1 {
struct __cxa_eh_globals;
extern "C" __cxa_eh_globals* __cxa_get_globals() noexcept;
}  // namespace __cxxabiv1
#endif

namespace weft::detail {

struct eh_state {
    void* caught = nullptr;
    uint64_t uncaught = 0;  // a 32-bit count, and padding
};

static_assert(sizeof(eh_state) == 16, "the ABI's globals are two words");

// Valid for the thread's life.
inline eh_state* thread_eh_state() noexcept { return reinterpret_cast<eh_state*>(__cxxabiv1::__cxa_get_globals()); }

}  // namespace weft::detail
