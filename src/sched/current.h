// current.h: the M of this thread; the only thread-local variable of the library.
//
// Do not keep the result across a switch: the switch itself returns the M on which the G resumes.
// How compilers are kept from caching the value: context/this_thread.h.
//
// The same holds for errno: the runtime never reads it across a park.
#pragma once

#include "context/this_thread.h"

namespace weft::detail {

struct M;

// The calling thread's M; nullptr in a plain thread.
[[nodiscard]] inline M* current_m() noexcept { return static_cast<M*>(this_thread()); }

inline void set_current_m(M* m) noexcept { set_this_thread(m); }

}  // namespace weft::detail
