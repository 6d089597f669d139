// unwind.h: walks the frames above the caller by unwind tables.
//
// A chain of frame pointers ends at the first function compiled without them, e.g. in the C++
// runtime. If a thread walks its own stack, outside a signal handler, the tables lead through those
// too.
//
// Threads: any thread, about itself. Not in a signal handler.
#pragma once

namespace weft::detail::os {

// Calls each(closure, pc) for every frame, innermost first, with the address at which the frame
// resumes; stops early when each returns false.
void for_each_own_frame(bool (*each)(void* closure, const void* pc), void* closure) noexcept;

}  // namespace weft::detail::os
