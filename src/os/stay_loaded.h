// stay_loaded.h: keeps the module that contains the library in memory.
//
// After dlclose of a plug-in, the process would still know addresses of our code: signal handlers,
// which other handlers may call next, functions for exit() and fork(), destructors of
// thread-locals, OS threads. They cannot all be withdrawn, so dlclose unmaps nothing
// (docs/building.md).
//
// Rejected: -z nodelete alone: only libweft.so has it; a plug-in is linked by its author.
// Rejected: Removing the handlers in a destructor: one that was installed later calls ours.
//
// Threads: any thread, before it installs the first of these.
#pragma once

namespace weft::detail::os {

// Has no effect in the program itself.
void stay_loaded() noexcept;

}  // namespace weft::detail::os
