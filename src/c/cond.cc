// cond.cc: see weft/run/cond.h.
#include <mutex>

#include <weft/condition_variable.h>
#include <weft/run/cond.h>

#include "c/handle.h"
#include "c/mutex.h"

struct run_cond {
    weft::condition_variable c;
};

using namespace weft::detail;

namespace {

// wait(lock) leaves the mutex locked in any case.
template <typename F>
run_status_t with_lock(run_mutex* mutex, F&& wait) noexcept {
    std::unique_lock<weft::mutex> lock(mutex->m, std::adopt_lock);
    const run_status_t status = guarded_call([&] { return wait(lock); });
    static_cast<void>(lock.release());
    return status;
}

}  // namespace

run_status_t run_cond_make(run_cond_t** cond) noexcept { return make_handle(cond); }

void run_cond_free(run_cond_t* cond) noexcept { delete cond; }

run_status_t run_cond_wait(run_cond_t* cond, run_mutex_t* mutex) noexcept {
    return run_cond_wait_for(cond, mutex, RUN_FOREVER);
}

run_status_t run_cond_wait_for(run_cond_t* cond, run_mutex_t* mutex, int64_t timeout_ns) noexcept {
    if (cond == nullptr || mutex == nullptr) return RUN_INVALID;
    if (timeout_ns <= 0) return RUN_WOULD_BLOCK;
    return with_lock(mutex, [=](std::unique_lock<weft::mutex>& lock) {
        const std::cv_status status = cond->c.wait_for(lock, std::chrono::nanoseconds(timeout_ns));
        return status == std::cv_status::no_timeout ? RUN_OK : RUN_TIMEOUT;
    });
}

run_status_t run_cond_signal(run_cond_t* cond) noexcept {
    return with_handle(cond, [](run_cond& h) { h.c.notify_one(); });
}

run_status_t run_cond_broadcast(run_cond_t* cond) noexcept {
    return with_handle(cond, [](run_cond& h) { h.c.notify_all(); });
}
