// preemptible.h: code that may be interrupted anywhere.
//
//     {
//         weft::preemptible here;          // from here on, others may run at the end of a time slice
//         for (…) x = x * x + c;           // … although nothing in this loop ever calls anything
//     }
//
// Green threads give up their P where they wait, yield or call checkpoint(); compiled by
// weft_instrument(), at each call. A computation that does none of this keeps its P until the
// runtime retakes it. In a preemptible scope a signal interrupts it instead, even within an
// expression. It continues later, on the same OS thread.
//
// Rules, because the code may be stopped for long at any instruction:
// - Allowed: arithmetic on existing memory; reads of thread-locals; yield(), checkpoint() and the
//   functions of this_g.
// - Forbidden: malloc, new, a std::string that grows, printf; locks of any kind; other calls into
//   the runtime, and other libraries that may do these things.
// - Violations are not detected. Other threads, or the process, may then wait for ever.
//
// The signal is SIGURG unless another is configured. Code on the runtime's OS threads may at any
// time block it, ignore it, or install its own handler, which should call the previous one. No
// scope waits for a signal that does not come: then the scope only loses its P, and each scope
// makes one or two system calls. A green thread started as preemptible is not interrupted in
// blocking().
//
// Scopes nest; the outermost one counts. A call that parks (against the rules, but harmless for a
// yield) leaves the scope for its duration. A scope costs about 10 ns, the code inside nothing.
//
// Threads: green threads; does nothing in a plain thread, which the operating system preempts.
// See: docs/preemption.md
#pragma once

#include <weft/detail/require.h>

namespace weft {

class [[nodiscard]] preemptible {
public:
    preemptible() noexcept;

    /// Caller: the green thread that made it.
    ~preemptible();

    preemptible(const preemptible&) = delete;
    preemptible& operator=(const preemptible&) = delete;

private:
    bool began_ = false;
};

}  // namespace weft
