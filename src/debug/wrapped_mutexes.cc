// wrapped_mutexes.cc: the functions that a program's calls of pthread_mutex_lock and so on lead to if it is linked with --wrap. See held.h.
//
// In a program that is linked so, and weft with it, __real_x is the system's x. In a shared library of weft, which is not, it is nothing,
// and x is the system's. In a program that is not linked so nobody asks for this file.
#include <pthread.h>
#include <time.h>

#include "debug/held.h"

// NOLINTBEGIN(bugprone-reserved-identifier): the linker's names

#define WEFT_WRAPPED(name, parameters, arguments)                                           \
    [[gnu::weak]] int __real_pthread_mutex_##name parameters;                               \
    int __wrap_pthread_mutex_##name parameters;                                             \
    static int real_##name parameters {                                                     \
        if (&__real_pthread_mutex_##name == nullptr) return pthread_mutex_##name arguments; \
        return __real_pthread_mutex_##name arguments;                                       \
    }

// A lock of that kind, whose result says whether it was taken.
#define WEFT_WRAPPED_LOCK(name, parameters, arguments)                                  \
    WEFT_WRAPPED(name, parameters, arguments)                                           \
    int __wrap_pthread_mutex_##name parameters {                                        \
        const int result = real_##name arguments;                                       \
        if (result == 0) weft::detail::note_locked(mutex, __builtin_return_address(0)); \
        return result;                                                                  \
    }

extern "C" {

WEFT_WRAPPED_LOCK(lock, (pthread_mutex_t * mutex), (mutex))
WEFT_WRAPPED_LOCK(trylock, (pthread_mutex_t * mutex), (mutex))
WEFT_WRAPPED_LOCK(timedlock, (pthread_mutex_t * mutex, const timespec* until), (mutex, until))
#if defined(__GLIBC__)  // musl has no such function
WEFT_WRAPPED_LOCK(clocklock, (pthread_mutex_t * mutex, clockid_t clock, const timespec* until), (mutex, clock, until))
#endif
WEFT_WRAPPED(unlock, (pthread_mutex_t * mutex), (mutex))

int __wrap_pthread_mutex_unlock(pthread_mutex_t* mutex) {
    weft::detail::note_unlocked(mutex);
    return real_unlock(mutex);
}

}  // extern "C"

// NOLINTEND(bugprone-reserved-identifier)
