// assert.h: checks that are always on, and how a process ends when one fails.
//
// There are three kinds of failure (docs/errors.md). A bug of the runtime (WEFT_ASSERT) and a
// misuse by the program (fatal) end the process with a report. Ordinary errors are exceptions or
// values and never come here.
//
// The report is written without allocating: the failure, the running green thread, where it was
// started, and its stack; then abort(). base/ does not know green threads, so the scheduler
// installs the function that describes them.
//
// Threads: any thread, in any context except a signal handler.
#pragma once

#include <cstdint>

namespace weft::detail {

// Writes "weft: fatal: " and the printf-style message to stderr, then the output of the fatal hook,
// and aborts.
[[noreturn, gnu::cold, gnu::format(printf, 1, 2)]] void fatal(const char* format, ...) noexcept;

[[noreturn, gnu::cold]] void assert_failed(const char* condition, const char* file, int line) noexcept;

// Installs the function that fatal() calls after the message and before abort(). It describes the
// running green thread on stderr.
void set_fatal_hook(void (*hook)() noexcept) noexcept;

// Writes one printf-style line to stderr, prefixed with "weft: ".
[[gnu::cold, gnu::format(printf, 1, 2)]] void warn(const char* format, ...) noexcept;

}  // namespace weft::detail

// A condition that only a bug in the runtime can violate. Checked in every build.
#define WEFT_ASSERT(condition)                                 \
    (__builtin_expect(!!(condition), 1) ? static_cast<void>(0) \
                                        : ::weft::detail::assert_failed(#condition, __FILE__, __LINE__))

// As WEFT_ASSERT, for expensive checks: list walks, queue membership. Debug builds only.
#if defined(WEFT_DEBUG_CHECKS)
#define WEFT_DCHECK(condition) WEFT_ASSERT(condition)
#else
#define WEFT_DCHECK(condition) static_cast<void>(0)
#endif
