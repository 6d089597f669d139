// thread_safety.h: Clang's thread-safety attributes: which lock guards what, checked at compile
// time.
//
// With WEFT_THREAD_SAFETY_CHECKS, which our own builds with Clang define, `-Wthread-safety` reports
// an access to a WEFT_GUARDED_BY member, or a call of a WEFT_REQUIRES function, where the lock is
// not held, and a lock that is left held or released twice. Programs see no attributes, so their
// own use of that warning has nothing to report in these headers.
//
// What a lock hands over to another context, such as the lock of a queue in which a green thread
// parks, the analysis cannot follow. Such a function says WEFT_NO_THREAD_SAFETY_ANALYSIS, and why.
#pragma once

#include <weft/detail/require.h>

#if defined(__clang__) && defined(WEFT_THREAD_SAFETY_CHECKS) && !defined(WEFT_MODEL)
#define WEFT_THREAD_SAFETY(x) __attribute__((x))
#else
#define WEFT_THREAD_SAFETY(x)
#endif

// A class that is a lock; a class whose object holds one while it exists.
#define WEFT_LOCK_CLASS WEFT_THREAD_SAFETY(capability("lock"))
#define WEFT_GUARD_CLASS WEFT_THREAD_SAFETY(scoped_lockable)

// A member that is accessed only under a lock.
#define WEFT_GUARDED_BY(lock) WEFT_THREAD_SAFETY(guarded_by(lock))

// A function that must be called with a lock held, that takes it, or that releases it.
#define WEFT_REQUIRES(...) WEFT_THREAD_SAFETY(requires_capability(__VA_ARGS__))
#define WEFT_ACQUIRE(...) WEFT_THREAD_SAFETY(acquire_capability(__VA_ARGS__))
#define WEFT_RELEASE(...) WEFT_THREAD_SAFETY(release_capability(__VA_ARGS__))
#define WEFT_TRY_ACQUIRE(...) WEFT_THREAD_SAFETY(try_acquire_capability(__VA_ARGS__))

// A function after which the analysis takes a lock as held, for a reason that it cannot see.
#define WEFT_ASSERTS_HELD(...) WEFT_THREAD_SAFETY(assert_capability(__VA_ARGS__))

#define WEFT_NO_THREAD_SAFETY_ANALYSIS WEFT_THREAD_SAFETY(no_thread_safety_analysis)
