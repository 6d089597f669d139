// blocking_pool.cc: a limit on concurrent blocking calls: see weft/run/blocking.h.
#include <weft/run/blocking.h>
#include <weft/semaphore.h>

#include "c/handle.h"
#include "handoff/blocking.h"

using namespace weft::detail;

// As weft::blocking_pool, but the call duration is learned per pool, not per type of function.
struct run_blocking_pool {
    explicit run_blocking_pool(uint32_t cap) noexcept : free(cap) {}

    weft::counting_semaphore<> free;
    atomic<uint32_t> running{0};
    atomic<uint32_t> waiting{0};
    run_blocking_site_t site{0};
};

namespace {

class counted {
public:
    explicit counted(atomic<uint32_t>& count) noexcept : count_(count) { count_.fetch_add(1, relaxed_count); }

    ~counted() { count_.fetch_sub(1, relaxed_count); }

    counted(const counted&) = delete;
    counted& operator=(const counted&) = delete;

private:
    atomic<uint32_t>& count_;
};

void take_place(run_blocking_pool& pool) {
    if (pool.free.try_acquire()) return;
    const counted waits(pool.waiting);
    pool.free.acquire();
}

}  // namespace

run_status_t run_blocking_pool_make(run_blocking_pool_t** pool, uint32_t cap) noexcept {
    if (cap == 0 || cap > weft::counting_semaphore<>::max()) return RUN_INVALID;
    return make_handle(pool, cap);
}

void run_blocking_pool_free(run_blocking_pool_t* pool) noexcept { delete pool; }

run_status_t run_blocking_pool_run(run_blocking_pool_t* pool, void (*fn)(void*), void* arg) noexcept {
    if (pool == nullptr || fn == nullptr) return RUN_INVALID;
    const run_status_t status = guarded_call([=] { take_place(*pool); });
    if (status != RUN_OK) return status;
    {
        const counted runs(pool->running);
        run_blocking(&pool->site, fn, arg);
    }
    pool->free.release();
    return RUN_OK;
}

uint32_t run_blocking_pool_running(const run_blocking_pool_t* pool) noexcept {
    return pool == nullptr ? 0 : pool->running.load(relaxed_count);
}

uint32_t run_blocking_pool_waiting(const run_blocking_pool_t* pool) noexcept {
    return pool == nullptr ? 0 : pool->waiting.load(relaxed_count);
}
