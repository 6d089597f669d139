// fault_injection.h: calls of the system that fail on purpose.
//
// Problem. The paths on which a call of the system fails are the least tested ones. A test must be
// able to make the n-th call of a kind fail: in a unit test, in a program that runs as it is
// (RUN_DEBUG=fail=accept4:3:EMFILE), and in a simulation (host::fail). All three use the names of
// one table, fault_injection.cc.
//
// Each wrapper of such a call asks injected_failure() first. While no rule exists that is a load
// and a jump, and the arguments are kept: nine instructions beside a call of the system.
//
// Rejected: seccomp filters, which test/support/nth_call.h uses, for this: they know numbers of
//           calls and not what they are for, and cannot be set for a part of a process. Wrapping
//           functions of the C library: a program has calls of its own.
//
// Rules of RUN_DEBUG are made once in the life of a process, so that wrappers in other threads read
// them without a lock.
//
// Ordering: R1 (the rules are complete) pairs with A1 (a wrapper finds them).
// Threads:  any thread. Rules are made while a runtime starts, or by a test.
// See:      docs/system_calls.md
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include <weft/detail/atomic.h>

namespace weft::detail::os {

// A kind of call. Their names: fault_injection.cc.
enum class failure : uint8_t {
    map,
    commit,
    unmap,
    thread,
    poller_make,
    poller_add,
    event,
    socket,
    socket_pair,
    bind,
    listen,
    connect,
    accept,
    send,
    receive,
    socket_option,
    open,
    write,
    sync,
};

inline constexpr std::size_t failure_kinds = static_cast<std::size_t>(failure::sync) + 1;

// "accept4", and what the call is for.
struct failure_name {
    const char* name;
    const char* what;
    int usual_error;  // of fail_nth_for_test
};

[[nodiscard]] const failure_name& name_of(failure kind) noexcept;

// Which calls of a kind fail.
struct failure_rule {
    static constexpr int every = -1;

    failure kind = failure::map;
    int n = 0;  // from 1, or every
    int error = 0;
};

// Reads call:n:ERROR, where n is a number from 1, or "every". Returns nullptr, or what is wrong.
[[nodiscard]] const char* parse_failure(std::string_view text, failure_rule& rule) noexcept;

inline constexpr std::size_t failure_rules_most = 16;

// Makes these calls of the process fail. The first rules count, because each runtime reads them.
void arm_failures(std::span<const failure_rule> rules) noexcept;

// These, for a simulation, which counts its own calls.
[[nodiscard]] std::span<const failure_rule> armed_failures() noexcept;

// The number of an error that is called EMFILE and so on; 0: no error has the name.
[[nodiscard]] int error_number(std::string_view name) noexcept;

// The n-th next call of that kind fails with its usual error (0: no call).
void fail_nth_for_test(failure kind, int n) noexcept;
void fail_all_commits_for_test() noexcept;

extern atomic<bool> some_call_fails;

[[nodiscard]] int injected_failure_slow(failure kind) noexcept;

// The error with which a call that is about to be made shall fail; 0: it shall be made.
[[nodiscard, gnu::always_inline]] inline int injected_failure(failure kind) noexcept {
    if (!some_call_fails.load(relaxed_hint)) [[likely]]
        return 0;
    return injected_failure_slow(kind);
}

}  // namespace weft::detail::os
