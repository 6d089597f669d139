// g_main.h: the frame at the bottom of every stack.
//
// Who: entered by the first switch to a stack; see spawn.h for the life of a G.
#pragma once

namespace weft::detail {

// The entry function of every stack: runs one G after the other, as long as exit_g returns one that may use the same stack. argument is the
// first of them, baton the M it begins on.
void g_main(void* argument, void* baton);

}  // namespace weft::detail
