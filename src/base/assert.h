// assert.h: checks that are always on, and how a process ends when one fails.
//
// WEFT_ASSERT is for bugs of the runtime, fatal for misuse by the program. Both write a report,
// without allocating, and abort.
//
// Threads: any thread, in any context except a signal handler.
// See:     docs/errors.md
#pragma once

#include <cstdint>

namespace weft::detail {

// Writes the printf-style message and the output of the hook to stderr, and aborts.
[[noreturn, gnu::cold, gnu::format(printf, 1, 2)]] void fatal(const char* format, ...) noexcept;

[[noreturn, gnu::cold]] void assert_failed(const char* condition, const char* file, int line) noexcept;

// The hook describes the running green thread, which base/ does not know, on stderr.
void set_fatal_hook(void (*hook)() noexcept) noexcept;

// Writes one printf-style line to stderr.
[[gnu::cold, gnu::format(printf, 1, 2)]] void warn(const char* format, ...) noexcept;

}  // namespace weft::detail

// Checked in every build.
#define WEFT_ASSERT(condition)                                 \
    (__builtin_expect(!!(condition), 1) ? static_cast<void>(0) \
                                        : ::weft::detail::assert_failed(#condition, __FILE__, __LINE__))

// For expensive checks: debug builds only.
#if defined(WEFT_DEBUG_CHECKS)
#define WEFT_DCHECK(condition) WEFT_ASSERT(condition)
#else
#define WEFT_DCHECK(condition) static_cast<void>(0)
#endif
