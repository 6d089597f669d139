// unwind.h: walks the frames above the caller by unwind tables.
//
// Unlike frame pointers, unwind tables lead through functions that are compiled without them.
//
// Threads: any thread, about itself. Not in a signal handler.
#pragma once

namespace weft::detail::os {

// Calls each(closure, pc) for every frame, innermost first, with its resume address, until each
// returns false.
void for_each_own_frame(bool (*each)(void* closure, const void* pc), void* closure) noexcept;

}  // namespace weft::detail::os
