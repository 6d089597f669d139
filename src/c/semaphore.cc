// semaphore.cc: see weft/run/semaphore.h.
#include <weft/run/semaphore.h>
#include <weft/semaphore.h>

#include "c/handle.h"

struct run_semaphore {
    explicit run_semaphore(uint32_t count) noexcept : s(count) {}

    weft::counting_semaphore<> s;
};

using namespace weft::detail;

run_status_t run_semaphore_make(run_semaphore_t** semaphore, uint32_t count) noexcept {
    if (count > weft::counting_semaphore<>::max()) return RUN_INVALID;
    return make_handle(semaphore, count);
}

void run_semaphore_free(run_semaphore_t* semaphore) noexcept { delete semaphore; }

run_status_t run_semaphore_acquire(run_semaphore_t* semaphore) noexcept {
    if (semaphore == nullptr) return RUN_INVALID;
    return guarded_call([=] { semaphore->s.acquire(); });
}

run_status_t run_semaphore_try_acquire(run_semaphore_t* semaphore) noexcept {
    return run_semaphore_acquire_for(semaphore, 0);
}

run_status_t run_semaphore_acquire_for(run_semaphore_t* semaphore, int64_t timeout_ns) noexcept {
    return try_for(semaphore, timeout_ns, [](run_semaphore& h, auto timeout) { return h.s.try_acquire_for(timeout); });
}

run_status_t run_semaphore_release(run_semaphore_t* semaphore, uint32_t n) noexcept {
    return with_handle(semaphore, [=](run_semaphore& h) { h.s.release(n); });
}
