// stay_loaded.h: keeps the module that contains the library in memory.
//
// A plug-in that contains the library can be closed by dlclose. By then the library has left addresses of its code in the process: signal
// handlers, which handlers of others may have saved as the ones to call next, functions for exit() and fork(), destructors of thread-locals,
// and OS threads, if a runtime still runs. They can not all be taken back, so the module stays: dlclose succeeds, and unmaps nothing. Opened again
// it is the same module with the same data, and a runtime starts as after any stop.
//
// Rejected. -z nodelete alone: libweft.so has it, but a plug-in is linked by its author. Taking the handlers back in a destructor of the module:
// a handler that was installed after ours calls ours.
//
// Who: any thread, before it installs the first of these.
#pragma once

namespace weft::detail::os {

// Does nothing if the library is part of the program itself.
void stay_loaded() noexcept;

}  // namespace weft::detail::os
