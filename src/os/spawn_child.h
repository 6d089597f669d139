// spawn_child.h: what a new process does between its start and the execution of its program, where
// it shares the memory of the process that started it: step S3 of spawn_linux.cc.
//
// It runs beside that process's other threads. So it allocates nothing, takes no lock, and makes
// only system calls. A sanitizer would change the parent thread's state, so its functions are not
// instrumented.
//
// Calls: a class with the system's own
//      duplicate(fd, number)   dup2()
//      reset_signals()         default actions, none blocked
//      keep_descriptors(…)     moves those that the program gets out of the way of 0, 1 and 2
//      place_descriptors(…)    gives them their numbers
//      set_rights(…)           nice, limits, and last the user
#pragma once

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstddef>

#include "os/process_calls.h"

#if defined(__clang__)
#define WEFT_IN_CHILD __attribute__((no_sanitize("thread", "address", "undefined"), disable_sanitizer_instrumentation))
#else
#define WEFT_IN_CHILD __attribute__((no_sanitize("thread"), no_sanitize("address"), no_sanitize("undefined")))
#endif

namespace weft::detail::os {

inline constexpr int exit_without_program = 127;

// Written by the parent before S2, except error, which the child writes.
struct child_plan {
    const spawn_request* request;
    char* const* environment;
    const char* path;
    char* top = nullptr;  // process_spawn_apart: of the stack for the second child
    int error = 0;        // errno's value
};

// Returns minus errno's value on failure.
template <typename... Arguments>
[[gnu::always_inline]] inline long child_call(long number, Arguments... arguments) noexcept {
    const auto result = ::syscall(number, arguments...);
    return result >= 0 ? result : -errno;
}

template <typename Calls>
WEFT_IN_CHILD long place_standard(int number, int fd) noexcept {
    if (fd == std_inherited) return 0;
    if (fd != std_null) return Calls::duplicate(fd, number);
    const long null = child_call(SYS_openat, AT_FDCWD, "/dev/null", O_RDWR, 0);
    if (null < 0 || null == number) return null;
    const long placed = Calls::duplicate(static_cast<int>(null), number);
    child_call(SYS_close, null);
    return placed;
}

WEFT_IN_CHILD inline bool has_slash(const char* text) noexcept {
    for (; *text != '\0'; ++text) {
        if (*text == '/') return true;
    }
    return false;
}

// Whether the search in PATH continues, as in execvp.
WEFT_IN_CHILD inline bool is_elsewhere(long error) noexcept {
    return error == -EACCES || error == -ENOENT || error == -ENOTDIR || error == -ESTALE || error == -ENODEV ||
           error == -ETIMEDOUT;
}

// Omits the slash if length is 0. Returns false if there is no room.
WEFT_IN_CHILD inline bool join_path(
    char* into, std::size_t room, const char* directory, std::size_t length, const char* name) noexcept {
    std::size_t used = 0;
    for (std::size_t i = 0; i < length; ++i) {
        if (used == room) return false;
        into[used++] = directory[i];
    }
    if (length != 0) {
        if (used == room) return false;
        into[used++] = '/';
    }
    for (;; ++name) {
        if (used == room) return false;
        into[used++] = *name;
        if (*name == '\0') return true;
    }
}

// Returns only on failure: minus errno's value.
WEFT_IN_CHILD inline long execute(const child_plan& plan) noexcept {
    const spawn_request& r = *plan.request;
    const char* name = r.program != nullptr ? r.program : r.arguments[0];
    if (has_slash(name)) return child_call(SYS_execve, name, r.arguments, plan.environment);
    char candidate[PATH_MAX];
    bool is_denied = false;
    long error = -ENOENT;
    for (const char* at = plan.path;;) {
        std::size_t length = 0;
        while (at[length] != '\0' && at[length] != ':') ++length;
        if (join_path(candidate, sizeof(candidate), at, length, name)) {
            error = child_call(SYS_execve, candidate, r.arguments, plan.environment);
            if (!is_elsewhere(error)) return error;
            if (error == -EACCES) is_denied = true;
        }
        if (at[length] == '\0') return is_denied ? -EACCES : error;
        at += length + 1;
    }
}

// S3. Returns only on failure.
template <typename Calls>
WEFT_IN_CHILD long begin_program(const child_plan& plan) noexcept {
    const spawn_request& r = *plan.request;
    if (r.group == group_kind::own) {
        if (const long result = child_call(SYS_setpgid, 0, 0); result < 0) return result;
    } else if (r.group == group_kind::own_session) {
        if (const long result = child_call(SYS_setsid); result < 0) return result;
    }
    if (r.set_up != nullptr) {
        if (const long result = Calls::keep_descriptors(*r.set_up); result < 0) return result;
    }
    for (int i = 0; i < 3; ++i) {
        if (const long result = place_standard<Calls>(i, r.standard[i]); result < 0) return result;
    }
    if (r.set_up != nullptr) {
        if (const long result = Calls::place_descriptors(*r.set_up); result < 0) return result;
        if (const long result = Calls::set_rights(*r.set_up); result < 0) return result;
    }
    if (r.directory != nullptr) {
        if (const long result = child_call(SYS_chdir, r.directory); result < 0) return result;
    }
    Calls::reset_signals();
    return execute(plan);
}

}  // namespace weft::detail::os
