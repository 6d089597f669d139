// stay_loaded.h: keeps the module that contains the library in memory.
//
// dlclose can unload a plug-in that contains the library. By then the library has left addresses of
// its code in the process: signal handlers, which other handlers may have saved to call next,
// functions for exit() and fork(), destructors of thread-locals, and OS threads, if a runtime still
// runs. They cannot all be withdrawn, so the module stays: dlclose succeeds, and unmaps nothing.
// Reopened, it is the same module with the same data, and a runtime starts as after any stop.
//
// Rejected: -z nodelete alone. libweft.so has it, but a plug-in is linked by its author.
// Rejected: Removing the handlers in a destructor of the module. A handler that was installed after
//           ours calls ours.
//
// Threads: any thread, before it installs the first of these.
#pragma once

namespace weft::detail::os {

// Does nothing if the library is part of the program itself.
void stay_loaded() noexcept;

}  // namespace weft::detail::os
