// g_main.h: the frame at the bottom of every stack.
//
// Threads: entered by the first switch to a stack; life of a G: spawn.h.
#pragma once

namespace weft::detail {

// Entry function of every stack. Runs Gs as long as exit_g returns one that may use the same stack.
// argument is the first G, baton the M on which it begins.
void g_main(void* argument, void* baton);

}  // namespace weft::detail
