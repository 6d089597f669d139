// nth_call.h: a program in a process of its own, of whose system calls one fails.
//
// The child installs a seccomp filter that hands the calls of some numbers to its parent. The parent lets each go on, but answers the
// n-th with an error. So the failure comes from the system, wherever in the process the call is made: in the C library as well.
#pragma once

#include <chrono>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

namespace weft::test {

// Calls that do the same: those of these numbers; if one is given, with that argument 1, or with any other one than that.
struct call_kind {
    const char* name;
    std::vector<long> numbers;
    int error;
    std::optional<unsigned> argument_1 = {};
    std::optional<unsigned> other_argument_1 = {};
};

// For GoogleTest.
inline void PrintTo(const call_kind& kind, std::ostream* out) { *out << kind.name; }

// How a program ended.
struct supervised {
    bool supported = false;  // false: this system has no such filters, or forbids them, and nothing has run
    unsigned calls = 0;      // of the kind that it has made
    bool in_time = false;    // else it was killed
    int status = 0;          // as waitpid gives it
    std::string said;        // on stderr
};

// Runs body() in a child, which ends with the result as its exit status, while the n-th call of that kind fails. Requires: the caller is the
// only thread of its process.
[[nodiscard]] supervised run_with_failing_call(const call_kind& kind,
                                               unsigned n,
                                               int (*body)(),
                                               std::chrono::seconds limit);

}  // namespace weft::test
