// handle.h: opaque handles of the C interface that wrap one C++ object.
//
// See: weft/run.h
#pragma once

#include <chrono>
#include <cstdint>
#include <new>
#include <utility>

#include "c/status.h"

namespace weft::detail {

template <typename Handle, typename... Args>
run_status_t make_handle(Handle** handle, Args&&... args) noexcept {
    if (handle == nullptr) return RUN_INVALID;
    *handle = new (std::nothrow) Handle{std::forward<Args>(args)...};
    return *handle == nullptr ? RUN_EXHAUSTED : RUN_OK;
}

// Requires: f does not throw.
template <typename Handle, typename F>
run_status_t with_handle(Handle* handle, F&& f) noexcept {
    if (handle == nullptr) return RUN_INVALID;
    f(*handle);
    return RUN_OK;
}

// attempt(handle, duration) waits for a limited time.
template <typename Handle, typename F>
run_status_t try_for(Handle* handle, int64_t timeout_ns, F&& attempt) noexcept {
    if (handle == nullptr) return RUN_INVALID;
    const std::chrono::nanoseconds timeout(timeout_ns < 0 ? 0 : timeout_ns);
    return guarded_call([&] {
        if (attempt(*handle, timeout)) return RUN_OK;
        return timeout_ns <= 0 ? RUN_WOULD_BLOCK : RUN_TIMEOUT;
    });
}

}  // namespace weft::detail
