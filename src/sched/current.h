// current.h: which M this thread is: the only thread-local of the library.
//
// Nobody keeps its result across a switch: the switch itself hands over the M it arrived on. How it is read so that compilers
// do not keep it either: context/this_thread.h.
//
// The same goes for errno: the runtime never reads it across a park.
#pragma once

#include "context/this_thread.h"

namespace weft::detail {

struct M;

// The calling thread's M; nullptr in a plain thread.
[[nodiscard]] inline M* current_m() noexcept { return static_cast<M*>(this_thread()); }

inline void set_current_m(M* m) noexcept { set_this_thread(m); }

}  // namespace weft::detail
