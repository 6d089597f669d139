// future.cc: see weft/run/future.h.
#include "c/future.h"

#include <new>

#include <weft/detail/locals.h>
#include <weft/detail/owner.h>

#include "c/spawn.h"

namespace {

using namespace weft::detail;

struct future_task {
    void* (*fn)(void*);
    void* arg;
    run_future* future;  // a reference

    void run() {
        exchange_ambient(&future->context, false);
        future->fulfiller.store(current_owner().who, relaxed);  // relaxed: only for reports
        future->result = fn(arg);
        end();
    }

    void end() const noexcept {
        exchange_ambient(nullptr, false);
        end_locals();
        future->fulfiller.store(nullptr, relaxed);  // relaxed: as above
        future->context.detach();
        future->pending.decrement();
        future->drop();
    }
};

run_status_t wait_by(run_future* future, void** result, int64_t deadline_ns) noexcept {
    const run_status_t status = status_of(
        future->pending.wait_cancellable(wait_reason::future_get, deadline_ns, &future->fulfiller), deadline_ns);
    if (status == RUN_OK && result != nullptr) *result = future->result;
    return status;
}

}  // namespace

run_status_t(run_async)(run_future_t** future, void* (*fn)(void*), void* arg) noexcept {
    return run_async_at(future, nullptr, fn, arg, nullptr, 0, nullptr);
}

run_status_t run_async_at(run_future_t** future,
                          const run_spawn_opts_t* opts,
                          void* (*fn)(void*),
                          void* arg,
                          const char* file,
                          int line,
                          const char* function) noexcept {
    if (future == nullptr) return RUN_INVALID;
    *future = nullptr;
    auto* made = new (std::nothrow) run_future;
    if (made == nullptr) return RUN_EXHAUSTED;
    made->retain();
    const run_status_t status = spawn_for_c(future_task{fn, arg, made}, opts, file, line, function);
    if (status != RUN_OK) {
        delete made;
        return status;
    }
    *future = made;
    return RUN_OK;
}

run_future_t* run_future_retain(run_future_t* future) noexcept {
    if (future != nullptr) future->retain();
    return future;
}

void run_future_release(run_future_t* future) noexcept {
    if (future != nullptr) future->drop();
}

run_status_t run_future_wait(run_future_t* future, void** result) noexcept {
    return future == nullptr ? RUN_INVALID : wait_by(future, result, never);
}

run_status_t run_future_wait_for(run_future_t* future, void** result, int64_t timeout_ns) noexcept {
    return future == nullptr ? RUN_INVALID : wait_by(future, result, deadline_of(timeout_ns));
}

bool run_future_is_ready(run_future_t* future) noexcept { return future != nullptr && future->pending.is_zero(); }

run_status_t run_future_cancel(run_future_t* future) noexcept {
    if (future == nullptr) return RUN_INVALID;
    future->context.cancel();
    return RUN_OK;
}
