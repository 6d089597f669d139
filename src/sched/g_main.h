// g_main.h: the frame at the bottom of every stack.
//
// Threads: entered by the first switch to a stack: spawn.h.
#pragma once

#include <weft/error.h>

namespace weft::detail {

// Thrown by waits in a runtime that stops (lifecycle/stopping.h); g_main catches it.
class runtime_stopped : public cancelled {};

// Runs Gs while exit_g returns one for the same stack. argument: the first G; baton: its M.
void g_main(void* argument, void* baton);

}  // namespace weft::detail
