// current.h: which M this thread is: the only thread-local of the library.
//
// A G may leave a function on another thread than the one it entered it on. Compilers compute the address of a thread-local once
// per function and keep it (on AArch64 even in executables), so after a switch they would read the old thread's. Hence
// one accessor, never inlined, whose body the compiler cannot see through; and nobody keeps its result across a
// switch: the switch itself hands over the M it arrived on.
//
// The same goes for errno: the runtime never reads it across a park.
#pragma once

namespace weft::detail {

struct M;

// The calling thread's M; nullptr in a plain thread.
[[nodiscard]] M* current_m() noexcept;
void set_current_m(M* m) noexcept;

}  // namespace weft::detail
