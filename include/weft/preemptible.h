// preemptible.h: code that may be interrupted anywhere.
//
//     {
//         weft::preemptible here;          // from here on, at the end of a time slice, others have their turn
//         for (…) x = x * x + c;           // … although nothing in this loop ever calls anything
//     }
//
// Green threads give way where they wait, yield or look (checkpoint()), and, compiled by weft_instrument(), at each call. A computation
// that does none of it keeps its processor until the runtime takes that away. One marked by a preemptible is interrupted by a
// signal instead, in the middle of an expression if need be, and goes on there later, on the same OS thread.
//
// The rules, because the interrupted code may be stopped for long at any instruction: in a preemptible there is arithmetic, on memory that
// is there already. No malloc, new, std::string that grows, printf; no lock of any kind; no call into the runtime but yield(),
// checkpoint(), and functions of this_g; no other library that might do such things. What breaks these rules is not noticed: others, or
// the process, may then wait for ever. Thread-locals are safe to read.
//
// The signal is SIGURG, unless another one was chosen. Code on the runtime's OS threads may block it, ignore it, or put a handler of its own
// in front (which should call the one that was there before), at any time: no scope waits for a signal that does not come. Then what is left
// is that the scope loses its processor; and each of them makes a system call or two. In a declared blocking call of a green thread that
// is marked as a whole nothing is interrupted.
//
// Scopes nest; the outermost one counts. A parking call in one (against the rules, but harmless if it is a yield) leaves it for as
// long as it takes. Costs some 10 ns for a scope, and nothing inside.
//
// Who: green threads; in a plain thread, which the operating system preempts, it does nothing.
// See: docs/preemption.md
#pragma once

#include <weft/detail/require.h>

namespace weft {

class [[nodiscard]] preemptible {
public:
    preemptible() noexcept;

    // By the green thread that made it.
    ~preemptible();

    preemptible(const preemptible&) = delete;
    preemptible& operator=(const preemptible&) = delete;

private:
    bool began_ = false;
};

}  // namespace weft
