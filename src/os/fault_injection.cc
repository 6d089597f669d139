// fault_injection.cc: see fault_injection.h.
#include "os/fault_injection.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <iterator>

namespace weft::detail::os {

constinit atomic<bool> some_call_fails{false};

namespace {

// By failure. Names are Linux's, also where another system has another call.
constexpr failure_name names[] = {
    {"mmap", "memory for stacks and tables", ENOMEM},
    {"mprotect", "makes such memory usable", ENOMEM},
    {"munmap", "gives it back", ENOMEM},
    {"clone", "makes an OS thread", EAGAIN},
    {"epoll_create1", "makes a poller", EMFILE},
    {"epoll_ctl", "watches a descriptor", ENOSPC},
    {"eventfd2", "wakes a poller, or tells of a signal", EMFILE},
    {"socket", "makes a socket", EMFILE},
    {"socketpair", "makes two connected sockets", EMFILE},
    {"bind", "gives a socket its address", EADDRINUSE},
    {"listen", "makes a socket listen", EADDRINUSE},
    {"connect", "connects a socket", ECONNREFUSED},
    {"accept4", "accepts a connection", EMFILE},
    {"send", "sends on a socket", ECONNRESET},
    {"recv", "receives from a socket", ECONNRESET},
    {"setsockopt", "sets an option of a socket", ENOBUFS},
    {"openat", "opens a file", EMFILE},
    {"pwrite", "writes to a file", ENOSPC},
    {"fsync", "makes a file durable", EIO},
};
static_assert(std::size(names) == failure_kinds);

struct named_error {
    const char* name;
    int number;
};

#define WEFT_ERROR(name) {#name, name}
constexpr named_error errors[] = {
    WEFT_ERROR(E2BIG),        WEFT_ERROR(EACCES),       WEFT_ERROR(EADDRINUSE),   WEFT_ERROR(EADDRNOTAVAIL),
    WEFT_ERROR(EAFNOSUPPORT), WEFT_ERROR(EAGAIN),       WEFT_ERROR(EALREADY),     WEFT_ERROR(EBADF),
    WEFT_ERROR(EBUSY),        WEFT_ERROR(ECANCELED),    WEFT_ERROR(ECONNABORTED), WEFT_ERROR(ECONNREFUSED),
    WEFT_ERROR(ECONNRESET),   WEFT_ERROR(EDESTADDRREQ), WEFT_ERROR(EDOM),         WEFT_ERROR(EEXIST),
    WEFT_ERROR(EFAULT),       WEFT_ERROR(EFBIG),        WEFT_ERROR(EHOSTUNREACH), WEFT_ERROR(EINPROGRESS),
    WEFT_ERROR(EINTR),        WEFT_ERROR(EINVAL),       WEFT_ERROR(EIO),          WEFT_ERROR(EISCONN),
    WEFT_ERROR(EISDIR),       WEFT_ERROR(ELOOP),        WEFT_ERROR(EMFILE),       WEFT_ERROR(EMSGSIZE),
    WEFT_ERROR(ENAMETOOLONG), WEFT_ERROR(ENETDOWN),     WEFT_ERROR(ENETRESET),    WEFT_ERROR(ENETUNREACH),
    WEFT_ERROR(ENFILE),       WEFT_ERROR(ENOBUFS),      WEFT_ERROR(ENODEV),       WEFT_ERROR(ENOENT),
    WEFT_ERROR(ENOMEM),       WEFT_ERROR(ENOPROTOOPT),  WEFT_ERROR(ENOSPC),       WEFT_ERROR(ENOSYS),
    WEFT_ERROR(ENOTCONN),     WEFT_ERROR(ENOTDIR),      WEFT_ERROR(ENOTSUP),      WEFT_ERROR(EOPNOTSUPP),
    WEFT_ERROR(EPERM),        WEFT_ERROR(EPIPE),        WEFT_ERROR(EPROTO),       WEFT_ERROR(EPROTONOSUPPORT),
    WEFT_ERROR(EROFS),        WEFT_ERROR(ESPIPE),       WEFT_ERROR(ETIMEDOUT),    WEFT_ERROR(EXDEV),
};
#undef WEFT_ERROR

constexpr int all_fail = failure_rule::every;

// Of each rule: calls until one fails; 0: none does.
constinit atomic<int> left_of_tests[failure_kinds] = {};  // one rule for each kind
constinit atomic<int> left[failure_rules_most] = {};

enum class rules_state : uint8_t { none, written, complete };

constinit failure_rule rules[failure_rules_most] = {};
constinit std::size_t rule_count = 0;
constinit atomic<rules_state> rules_are{rules_state::none};

// Whether this call is one that fails.
bool hits(atomic<int>& countdown) noexcept {
    int now = countdown.load(relaxed_cas);
    if (now == all_fail) return true;
    while (now > 0) {
        if (countdown.compare_exchange_weak(now, now - 1, relaxed)) return now == 1;  // relaxed: a count
    }
    return false;
}

bool find_kind(std::string_view name, failure& kind) noexcept {
    for (std::size_t i = 0; i < failure_kinds; ++i) {
        if (name != names[i].name) continue;
        kind = static_cast<failure>(i);
        return true;
    }
    return false;
}

// "3" or "every"; 0: neither.
int parse_position(std::string_view text) noexcept {
    if (text == "every") return all_fail;
    int n = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
    return error == std::errc() && end == text.data() + text.size() && n > 0 ? n : 0;
}

// The part of text before its next colon, which is removed.
std::string_view next_part(std::string_view& text) noexcept {
    const std::size_t colon = text.find(':');
    const std::string_view part = text.substr(0, colon);
    text = colon == std::string_view::npos ? std::string_view() : text.substr(colon + 1);
    return part;
}

}  // namespace

const failure_name& name_of(failure kind) noexcept { return names[static_cast<std::size_t>(kind)]; }

int error_number(std::string_view name) noexcept {
    for (const named_error& e : errors)
        if (name == e.name) return e.number;
    return 0;
}

const char* parse_failure(std::string_view text, failure_rule& rule) noexcept {
    if (!find_kind(next_part(text), rule.kind)) return "docs/system_calls.md lists the calls that can be made to fail";
    rule.n = parse_position(next_part(text));
    if (rule.n == 0) return "after the call must come the number of the one that fails, from 1, or every";
    rule.error = error_number(text);
    if (rule.error == 0) return "at the end must come the name of an error of the system, for example EMFILE";
    return nullptr;
}

void arm_failures(std::span<const failure_rule> wanted) noexcept {
    auto none = rules_state::none;
    if (wanted.empty() || !rules_are.compare_exchange_strong(none, rules_state::written, relaxed))
        return;  // relaxed: R1
    rule_count = std::min(wanted.size(), failure_rules_most);
    for (std::size_t i = 0; i < rule_count; ++i) {
        rules[i] = wanted[i];
        left[i].store(wanted[i].n, relaxed);  // relaxed: R1
    }
    rules_are.store(rules_state::complete, release);  // R1
    some_call_fails.store(true, relaxed);             // relaxed: a hint
}

std::span<const failure_rule> armed_failures() noexcept {
    if (rules_are.load(acquire) != rules_state::complete) return {};  // A1
    return {rules, rule_count};
}

void fail_nth_for_test(failure kind, int n) noexcept {
    left_of_tests[static_cast<std::size_t>(kind)].store(n, relaxed);  // relaxed: tests only
    some_call_fails.store(true, relaxed);                             // relaxed: as above
}

void fail_all_commits_for_test() noexcept { fail_nth_for_test(failure::commit, all_fail); }

// All rules count the call, also if another one makes it fail.
int injected_failure_slow(failure kind) noexcept {
    int error = hits(left_of_tests[static_cast<std::size_t>(kind)]) ? name_of(kind).usual_error : 0;
    const std::span<const failure_rule> all = armed_failures();
    for (std::size_t i = 0; i < all.size(); ++i)
        if (all[i].kind == kind && hits(left[i])) error = all[i].error;
    return error;
}

}  // namespace weft::detail::os
