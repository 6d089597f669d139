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
// Scopes nest; the outermost one counts. A parking call in one (against the rules, but harmless if it is a yield) leaves it for as
// long as it takes. Costs some 10 ns for a scope, and nothing inside.
//
// Who: green threads; in a plain thread, which the operating system preempts, it does nothing.
// See: docs/preemption.md
#pragma once

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
