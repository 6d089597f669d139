// mutex.cc: mutual exclusion for C. See weft/run/mutex.h.
#include <weft/run/mutex.h>

#include <new>

#include <weft/mutex.h>

#include "c/status.h"

struct run_mutex {
    weft::mutex m;
};

run_status_t run_mutex_make(run_mutex_t** mutex) noexcept {
    if (mutex == nullptr) return RUN_INVALID;
    *mutex = new (std::nothrow) run_mutex;
    return *mutex == nullptr ? RUN_EXHAUSTED : RUN_OK;
}

void run_mutex_free(run_mutex_t* mutex) noexcept { delete mutex; }

run_status_t run_mutex_lock(run_mutex_t* mutex) noexcept {
    if (mutex == nullptr) return RUN_INVALID;
    mutex->m.lock();
    return RUN_OK;
}

run_status_t run_mutex_try_lock(run_mutex_t* mutex) noexcept {
    if (mutex == nullptr) return RUN_INVALID;
    return mutex->m.try_lock() ? RUN_OK : RUN_WOULD_BLOCK;
}

run_status_t run_mutex_unlock(run_mutex_t* mutex) noexcept {
    if (mutex == nullptr) return RUN_INVALID;
    mutex->m.unlock();
    return RUN_OK;
}
