// unwind.h: the frames above the caller, found by unwind tables.
//
// A chain of frame pointers ends at the first function compiled without them: the C++ runtime's, for one. Where a thread looks at
// its own stack, outside of a signal handler, the tables lead through those too.
//
// Who: any thread, about itself. Not in a signal handler.
#pragma once

namespace weft::detail::os {

// Calls each(closure, pc) for every frame, innermost first, with the address the frame goes on at; ends early when each returns false.
void for_each_own_frame(bool (*each)(void* closure, const void* pc), void* closure) noexcept;

}  // namespace weft::detail::os
