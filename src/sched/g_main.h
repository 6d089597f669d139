// g_main.h: the frame at the bottom of every stack.
//
// Threads: entered by the first switch to a stack: spawn.h.
#pragma once

namespace weft::detail {

// Entry function of every stack. Runs Gs while exit_g returns one for the same stack. argument: the
// first G; baton: the M on which it begins.
void g_main(void* argument, void* baton);

}  // namespace weft::detail
