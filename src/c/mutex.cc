// mutex.cc: mutex, recursive mutex, rwmutex: see weft/run/mutex.h.
#include "c/mutex.h"

#include <weft/recursive_mutex.h>
#include <weft/run/recursive_mutex.h>
#include <weft/run/rwmutex.h>
#include <weft/shared_timed_mutex.h>

#include "c/handle.h"

struct run_recursive_mutex {
    weft::recursive_timed_mutex m;
};

struct run_rwmutex {
    weft::shared_timed_mutex m;
};

using namespace weft::detail;

// ---- Mutex.

run_status_t run_mutex_make(run_mutex_t** mutex) noexcept { return make_handle(mutex); }

void run_mutex_free(run_mutex_t* mutex) noexcept { delete mutex; }

run_status_t run_mutex_lock(run_mutex_t* mutex) noexcept {
    return with_handle(mutex, [](run_mutex& h) { h.m.lock(); });
}

run_status_t run_mutex_try_lock(run_mutex_t* mutex) noexcept { return run_mutex_lock_for(mutex, 0); }

run_status_t run_mutex_lock_for(run_mutex_t* mutex, int64_t timeout_ns) noexcept {
    return try_for(mutex, timeout_ns, [](run_mutex& h, auto timeout) { return h.m.try_lock_for(timeout); });
}

run_status_t run_mutex_unlock(run_mutex_t* mutex) noexcept {
    return with_handle(mutex, [](run_mutex& h) { h.m.unlock(); });
}

// ---- Recursive mutex.

run_status_t run_recursive_mutex_make(run_recursive_mutex_t** mutex) noexcept { return make_handle(mutex); }

void run_recursive_mutex_free(run_recursive_mutex_t* mutex) noexcept { delete mutex; }

run_status_t run_recursive_mutex_lock(run_recursive_mutex_t* mutex) noexcept {
    if (mutex == nullptr) return RUN_INVALID;
    return guarded_call([=] { mutex->m.lock(); });
}

run_status_t run_recursive_mutex_try_lock(run_recursive_mutex_t* mutex) noexcept {
    return run_recursive_mutex_lock_for(mutex, 0);
}

run_status_t run_recursive_mutex_lock_for(run_recursive_mutex_t* mutex, int64_t timeout_ns) noexcept {
    return try_for(mutex, timeout_ns, [](run_recursive_mutex& h, auto timeout) { return h.m.try_lock_for(timeout); });
}

run_status_t run_recursive_mutex_unlock(run_recursive_mutex_t* mutex) noexcept {
    return with_handle(mutex, [](run_recursive_mutex& h) { h.m.unlock(); });
}

// ---- Readers and writer.

run_status_t run_rwmutex_make(run_rwmutex_t** mutex) noexcept { return make_handle(mutex); }

void run_rwmutex_free(run_rwmutex_t* mutex) noexcept { delete mutex; }

run_status_t run_rwmutex_lock(run_rwmutex_t* mutex) noexcept {
    return with_handle(mutex, [](run_rwmutex& h) { h.m.lock(); });
}

run_status_t run_rwmutex_try_lock(run_rwmutex_t* mutex) noexcept { return run_rwmutex_lock_for(mutex, 0); }

run_status_t run_rwmutex_lock_for(run_rwmutex_t* mutex, int64_t timeout_ns) noexcept {
    return try_for(mutex, timeout_ns, [](run_rwmutex& h, auto timeout) { return h.m.try_lock_for(timeout); });
}

run_status_t run_rwmutex_unlock(run_rwmutex_t* mutex) noexcept {
    return with_handle(mutex, [](run_rwmutex& h) { h.m.unlock(); });
}

run_status_t run_rwmutex_rlock(run_rwmutex_t* mutex) noexcept {
    return with_handle(mutex, [](run_rwmutex& h) { h.m.lock_shared(); });
}

run_status_t run_rwmutex_try_rlock(run_rwmutex_t* mutex) noexcept { return run_rwmutex_rlock_for(mutex, 0); }

run_status_t run_rwmutex_rlock_for(run_rwmutex_t* mutex, int64_t timeout_ns) noexcept {
    return try_for(mutex, timeout_ns, [](run_rwmutex& h, auto timeout) { return h.m.try_lock_shared_for(timeout); });
}

run_status_t run_rwmutex_runlock(run_rwmutex_t* mutex) noexcept {
    return with_handle(mutex, [](run_rwmutex& h) { h.m.unlock_shared(); });
}
