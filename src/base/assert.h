// assert.h: checks that stay on, and the way a process ends when one fails.
//
// Three kinds of failure are kept apart (docs/errors.md): a bug of the runtime (WEFT_ASSERT) and a misuse by the program
// (fatal) end the process with a report; what merely happens is an exception or a value and never comes here.
//
// The report is written without allocating: what failed, which green thread was running, where it was started, its
// stack, then abort(). base/ knows no green threads, so the scheduler installs the function that describes them.
//
// Who: any thread, any context but a signal handler.
#pragma once

#include <cstdint>

namespace weft::detail {

// Writes "weft: fatal: " and the printf-style message to stderr, then what the fatal hook has to say, and aborts.
[[noreturn, gnu::cold, gnu::format(printf, 1, 2)]] void fatal(const char* format, ...) noexcept;

[[noreturn, gnu::cold]] void assert_failed(const char* condition, const char* file, int line) noexcept;

// Installs what fatal() calls after the message and before abort(): describes the running green thread on stderr.
void set_fatal_hook(void (*hook)() noexcept) noexcept;

// One printf-style line on stderr, begun with "weft: ".
[[gnu::cold, gnu::format(printf, 1, 2)]] void warn(const char* format, ...) noexcept;

}  // namespace weft::detail

// A condition that only a bug in the runtime can break. Checked in every build.
#define WEFT_ASSERT(condition)                                 \
    (__builtin_expect(!!(condition), 1) ? static_cast<void>(0) \
                                        : ::weft::detail::assert_failed(#condition, __FILE__, __LINE__))

// As WEFT_ASSERT for checks that cost: list walks, queue membership. Debug builds only.
#if defined(WEFT_DEBUG_CHECKS)
#define WEFT_DCHECK(condition) WEFT_ASSERT(condition)
#else
#define WEFT_DCHECK(condition) static_cast<void>(0)
#endif
