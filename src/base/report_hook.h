// report_hook.h: tells a component that the runtime reports something, so that it can save what it
// has recorded of it.
//
// Called after a report of the watchdog, and when the process is about to end: because of a
// deadlock, a fatal error, an uncaught exception, or a fault of the program.
//
// Threads: any; call_report_hook also in a handler of SIGSEGV or SIGBUS.
#pragma once

#include <cstdint>

namespace weft::detail {

enum class reported : uint8_t { watchdog, deadlock, fatal };

enum class report_user : uint8_t { recorder, simulation, count };

// One for each user in the process; nullptr: none. If the process is about to end, it ends when the
// hook returns. The hook takes no lock that the caller may hold, and does not allocate.
void set_report_hook(report_user user, void (*hook)(reported what) noexcept) noexcept;

void call_report_hook(reported what) noexcept;

}  // namespace weft::detail
