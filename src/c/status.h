// status.h: turns the outcome of a call into a status. No exception leaves the C interface.
//
// See: weft/run/base.h
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include <weft/detail/wait.h>
#include <weft/error.h>
#include <weft/run/base.h>

namespace weft::detail {

[[nodiscard]] run_status_t status_of_exception() noexcept;

// f returns a status or nothing. An exception becomes a status.
template <typename F>
run_status_t guarded_call(F&& f) noexcept {
    try {
        if constexpr (std::is_void_v<std::invoke_result_t<F&>>) {
            f();
            return RUN_OK;
        } else {
            return f();
        }
    } catch (...) {
        return status_of_exception();
    }
}

// deadline_ns 0 means "do not wait".
[[nodiscard]] inline run_status_t status_of(wait_result result, int64_t deadline_ns) noexcept {
    switch (result) {
        case wait_result::served:
            return RUN_OK;
        case wait_result::timed_out:
            return deadline_ns == 0 ? RUN_WOULD_BLOCK : RUN_TIMEOUT;
        case wait_result::cancelled:
            return RUN_CANCELLED;
        case wait_result::expired:
            return RUN_EXPIRED;
    }
    return RUN_INVALID;
}

// Returns 0 for "do not wait", else a deadline as wait_until takes it.
[[nodiscard]] inline int64_t deadline_of(int64_t timeout_ns) noexcept {
    if (timeout_ns <= 0) return 0;
    if (timeout_ns == RUN_FOREVER) return never;
    const int64_t now = now_ns();
    return timeout_ns > never - 1 - now ? never - 1 : now + timeout_ns;
}

// Copies the part of an option struct that its caller knows; the rest stays as it is. Returns false
// if the struct's size is invalid.
template <typename T>
[[nodiscard]] bool read_options(const T* from, T& into) noexcept {
    if (from == nullptr) return true;
    const std::size_t size = from->size;
    if (size < sizeof(std::size_t)) return false;
    std::memcpy(&into, from, size < sizeof(T) ? size : sizeof(T));
    return true;
}

}  // namespace weft::detail
