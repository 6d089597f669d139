// crash.h: reports when the process dies in a green thread.
//
// docs/errors.md has the causes. After a report the previous handler runs, or abort.
//
// Threads: any thread, in any state: reports neither allocate nor lock, except to name an
//          exception.
#pragma once

#include "lifecycle/report.h"

namespace weft::detail {

struct G;
struct scheduler;
struct stack;

// Installs the handlers, once per process.
void install_fatal_report() noexcept;

// The registry in which the fault handler finds the stack of an address.
void register_scheduler(scheduler* s) noexcept;
void unregister_scheduler(scheduler* s) noexcept;

// Calls visit for each scheduler until it returns false. Unregistering waits for it: be quick. Any
// signal handler; any thread except one about to unregister a scheduler.
void visit_schedulers(bool (*visit)(void* closure, scheduler& s) noexcept, void* closure) noexcept;

// g has overrun its stack, which has no guard.
[[noreturn]] void report_overflow(G& g) noexcept;

// "green thread 7 \"acceptor\" (started by 1 at main.cc:12, in int main())".
void print_identity(report& out, const G& g) noexcept;

}  // namespace weft::detail
