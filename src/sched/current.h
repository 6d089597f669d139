// current.h: the M of this thread; the library's only thread-local.
//
// Do not keep the result across a switch, which returns the M on which the G resumes. Compilers
// cannot cache it: context/this_thread.h. The runtime never reads errno across a park.
#pragma once

#include "context/this_thread.h"

namespace weft::detail {

struct M;

// The calling thread's M; nullptr in a plain thread.
[[nodiscard]] inline M* current_m() noexcept { return static_cast<M*>(this_thread()); }

inline void set_current_m(M* m) noexcept { set_this_thread(m); }

}  // namespace weft::detail
