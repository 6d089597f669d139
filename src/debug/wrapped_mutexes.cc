// wrapped_mutexes.cc: the targets of --wrap=pthread_mutex_lock and so on: see per_g/held.h.
//
// Linked with --wrap, __real_x is the system's x. In a shared weft library it is null, and x is the
// system's.
#include <pthread.h>
#include <time.h>

#include "per_g/held.h"

// NOLINTBEGIN(bugprone-reserved-identifier): the linker's names

#define WEFT_WRAPPED(name, parameters, arguments)                                           \
    [[gnu::weak]] int __real_pthread_mutex_##name parameters;                               \
    int __wrap_pthread_mutex_##name parameters;                                             \
    static int real_##name parameters {                                                     \
        if (&__real_pthread_mutex_##name == nullptr) return pthread_mutex_##name arguments; \
        return __real_pthread_mutex_##name arguments;                                       \
    }

#define WEFT_NOTE_LOCKED(mutex) \
    weft::detail::note_locked(mutex, __builtin_return_address(0), __builtin_frame_address(0))

// A function that locks; its result says whether it did.
#define WEFT_WRAPPED_LOCK(name, parameters, arguments) \
    WEFT_WRAPPED(name, parameters, arguments)          \
    int __wrap_pthread_mutex_##name parameters {       \
        const int result = real_##name arguments;      \
        if (result == 0) WEFT_NOTE_LOCKED(mutex);      \
        return result;                                 \
    }

extern "C" {

WEFT_WRAPPED_LOCK(lock, (pthread_mutex_t * mutex), (mutex))
WEFT_WRAPPED_LOCK(trylock, (pthread_mutex_t * mutex), (mutex))
WEFT_WRAPPED_LOCK(timedlock, (pthread_mutex_t * mutex, const timespec* until), (mutex, until))
#if defined(__GLIBC__)  // not in musl
WEFT_WRAPPED_LOCK(clocklock, (pthread_mutex_t * mutex, clockid_t clock, const timespec* until), (mutex, clock, until))
#endif
WEFT_WRAPPED(unlock, (pthread_mutex_t * mutex), (mutex))

int __wrap_pthread_mutex_unlock(pthread_mutex_t* mutex) {
    weft::detail::note_unlocked(mutex);
    return real_unlock(mutex);
}

}  // extern "C"

// NOLINTEND(bugprone-reserved-identifier)
