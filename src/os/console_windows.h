// console_windows.h: what the console tells a process, as signals.
//
// Windows calls a handler on a thread that it makes for each event. So handlers are not restricted
// as in a signal handler, but must not be slow: the next event waits.
//
//      Ctrl-C                            SIGINT
//      Ctrl-Break                        SIGBREAK
//      window closed, logoff, shutdown   SIGTERM; the process ends when the handler returns, so it
//                                        waits, and the system ends the process after seconds
//
// Threads: any thread.
#pragma once

namespace weft::detail::os {

// See call_on_signal in signals.h.
[[nodiscard]] int hook_console_signal(int signal, void (*hook)() noexcept) noexcept;

}  // namespace weft::detail::os
