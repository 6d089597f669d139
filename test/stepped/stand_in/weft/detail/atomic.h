// atomic.h: in place of include/weft/detail/atomic.h, whose other names it repeats. Each operation
// is a step.
#pragma once

#include <atomic>

#include <weft/detail/require.h>

#include "stepped_atomic.h"

#define WEFT_SEES_RACES 0
#define WEFT_FULL_FENCE() std::atomic_thread_fence(std::memory_order_seq_cst)
#define WEFT_CONSTEXPR constexpr

namespace weft::detail {

template <typename T>
using atomic = stepped::atomic<T>;

inline constexpr std::memory_order relaxed = std::memory_order_relaxed;
inline constexpr std::memory_order relaxed_locked = relaxed;
inline constexpr std::memory_order relaxed_own = relaxed;
inline constexpr std::memory_order relaxed_alone = relaxed;
inline constexpr std::memory_order relaxed_cas = relaxed;
inline constexpr std::memory_order relaxed_hint = relaxed;
inline constexpr std::memory_order relaxed_count = relaxed;
inline constexpr std::memory_order acquire = std::memory_order_acquire;
inline constexpr std::memory_order release = std::memory_order_release;
inline constexpr std::memory_order acq_rel = std::memory_order_acq_rel;
inline constexpr std::memory_order seq_cst = std::memory_order_seq_cst;
inline constexpr bool model_build = false;

template <typename T>
using guarded = T;

template <typename T>
class peekable {
public:
    constexpr peekable(T value) noexcept : value_(value) {}  // NOLINT: as T

    peekable& operator=(T value) noexcept {
        value_ = value;
        return *this;
    }

    operator T() const noexcept { return value_; }  // NOLINT: as T

    T operator->() const noexcept { return value_; }

    peekable& operator++() noexcept { return *this = value_ + 1; }

    peekable& operator--() noexcept { return *this = value_ - 1; }

    [[nodiscard]] T peek() const noexcept {
        stepped::step();
        return value_;
    }

private:
    T value_;
};

}  // namespace weft::detail
