// build.h: how the tests were compiled.
#pragma once

namespace weft::test {

#if defined(__has_feature)
#define WEFT_TEST_HAS_FEATURE(name) __has_feature(name)
#else
#define WEFT_TEST_HAS_FEATURE(name) 0
#endif

#if defined(__SANITIZE_ADDRESS__) || WEFT_TEST_HAS_FEATURE(address_sanitizer)
#define WEFT_TEST_SANITIZED 1
inline constexpr bool built_with_asan = true;
#else
inline constexpr bool built_with_asan = false;
#endif

#if defined(__SANITIZE_THREAD__) || WEFT_TEST_HAS_FEATURE(thread_sanitizer)
#define WEFT_TEST_SANITIZED 1
inline constexpr bool built_with_tsan = true;
#else
inline constexpr bool built_with_tsan = false;
#endif

inline constexpr bool built_with_sanitizer = built_with_asan || built_with_tsan;

#if !defined(WEFT_TEST_SANITIZED)
#define WEFT_TEST_SANITIZED 0
#endif

#undef WEFT_TEST_HAS_FEATURE

// Built for another processor, and run by an emulator, which the kernel cannot start by itself.
#if defined(WEFT_TEST_EMULATED)
inline constexpr bool emulated = true;
#else
inline constexpr bool emulated = false;
#endif

}  // namespace weft::test

// The compiler assumes nothing across calls of this function. Values read before it (a
// thread-local's address, errno's) are read again, on the caller's current OS thread.
#if defined(__clang__)
#define WEFT_TEST_OPAQUE __attribute__((noinline))
#else
#define WEFT_TEST_OPAQUE __attribute__((noinline, noipa))
#endif
