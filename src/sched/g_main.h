// g_main.h: the frame at the bottom of every stack.
//
// Threads: entered by the first switch to a stack: spawn.h.
#pragma once

#include <weft/error.h>

namespace weft::detail {

// Thrown by waits in a runtime that stops (lifecycle/stopping.h); the frame below catches it.
class runtime_stopped : public cancelled {};

// Entry function of every stack. Runs Gs while exit_g returns one for the same stack. argument: the
// first G; baton: the M on which it begins.
void g_main(void* argument, void* baton);

}  // namespace weft::detail
