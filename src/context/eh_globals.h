// eh_globals.h: the C++ exception state, which travels with a green thread.
//
// The C++ ABI keeps two words per OS thread: the chain of caught exceptions and the count of
// uncaught ones. A G that parks in a catch block, or in a destructor during unwinding, would leave
// them to the M's next G. So every switch stores the old G's and loads the new G's (0.4 ns).
//
// The Itanium C++ ABI (2.2.2) fixes the layout for libstdc++ and libc++abi.
//
// Threads: the M of that thread.
#pragma once

#include <cxxabi.h>

#include <cstdint>

#if defined(_LIBCPP_VERSION)
// libc++abi defines this function, but <cxxabi.h> does not declare it.
namespace __cxxabiv1 {
struct __cxa_eh_globals;
extern "C" __cxa_eh_globals* __cxa_get_globals() noexcept;
}  // namespace __cxxabiv1
#endif

namespace weft::detail {

struct eh_state {
    void* caught = nullptr;
    uint64_t uncaught = 0;  // the ABI's 32-bit count and padding, copied together
};

static_assert(sizeof(eh_state) == 16, "the ABI's globals are two words");

// This thread's two words; valid for the thread's life.
inline eh_state* thread_eh_state() noexcept { return reinterpret_cast<eh_state*>(__cxxabiv1::__cxa_get_globals()); }

}  // namespace weft::detail
