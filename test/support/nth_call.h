// nth_call.h: runs code in a process of its own, where the n-th system call of a kind fails.
//
// A seccomp filter in the child hands those calls to the parent, which lets each continue but fails
// the n-th. So the failure comes from the system, wherever the call is made, also in the C library.
#pragma once

#include <chrono>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

namespace weft::test {

// Calls with these numbers. If given, only with that argument 1, or only with any other.
struct call_kind {
    const char* name;
    std::vector<long> numbers;
    int error;
    std::optional<unsigned> argument_1 = {};
    std::optional<unsigned> other_argument_1 = {};
};

// For GoogleTest.
inline void PrintTo(const call_kind& kind, std::ostream* out) { *out << kind.name; }

// The end of a program.
struct supervised {
    bool supported = false;  // False: no such filters, or forbidden; nothing has run.
    unsigned calls = 0;      // Calls of the kind.
    bool in_time = false;    // False: it was killed.
    int status = 0;          // As from waitpid.
    std::string said;        // On stderr.
};

// Runs body() in a child, whose exit status is the result, and fails the n-th call of that kind.
// Requires: the caller is its process's only thread.
[[nodiscard]] supervised run_with_failing_call(const call_kind& kind,
                                               unsigned n,
                                               int (*body)(),
                                               std::chrono::seconds limit);

}  // namespace weft::test
