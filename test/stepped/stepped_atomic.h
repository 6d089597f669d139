// stepped_atomic.h: as std::atomic, but each operation is a step (stepped.h).
#pragma once

#include <atomic>

namespace stepped {

// Another thread may run before this returns.
void step() noexcept;

template <typename T>
class atomic {
public:
    using value_type = T;
    static constexpr bool is_always_lock_free = std::atomic<T>::is_always_lock_free;

    constexpr atomic() noexcept = default;

    constexpr atomic(T value) noexcept : value_(value) {}  // NOLINT: as std::atomic

    atomic(const atomic&) = delete;
    atomic& operator=(const atomic&) = delete;

    [[gnu::always_inline]] T load(std::memory_order = std::memory_order_seq_cst) const noexcept {
        step();
        return value_.load();
    }

    [[gnu::always_inline]] void store(T value, std::memory_order = std::memory_order_seq_cst) noexcept {
        step();
        value_.store(value);
    }

    [[gnu::always_inline]] T exchange(T value, std::memory_order = std::memory_order_seq_cst) noexcept {
        step();
        return value_.exchange(value);
    }

    [[gnu::always_inline]] bool compare_exchange_strong(T& expected,
                                                        T desired,
                                                        std::memory_order = std::memory_order_seq_cst,
                                                        std::memory_order = std::memory_order_seq_cst) noexcept {
        step();
        return value_.compare_exchange_strong(expected, desired);
    }

    [[gnu::always_inline]] bool compare_exchange_weak(T& expected,
                                                      T desired,
                                                      std::memory_order = std::memory_order_seq_cst,
                                                      std::memory_order = std::memory_order_seq_cst) noexcept {
        return compare_exchange_strong(expected, desired);
    }

    template <typename D>
    [[gnu::always_inline]] T fetch_add(D n, std::memory_order = std::memory_order_seq_cst) noexcept {
        step();
        return value_.fetch_add(n);
    }

    template <typename D>
    [[gnu::always_inline]] T fetch_sub(D n, std::memory_order = std::memory_order_seq_cst) noexcept {
        step();
        return value_.fetch_sub(n);
    }

    [[gnu::always_inline]] T fetch_or(T bits, std::memory_order = std::memory_order_seq_cst) noexcept {
        step();
        return value_.fetch_or(bits);
    }

    [[gnu::always_inline]] T fetch_and(T bits, std::memory_order = std::memory_order_seq_cst) noexcept {
        step();
        return value_.fetch_and(bits);
    }

    [[gnu::always_inline]] T fetch_xor(T bits, std::memory_order = std::memory_order_seq_cst) noexcept {
        step();
        return value_.fetch_xor(bits);
    }

private:
    std::atomic<T> value_;
};

static_assert(sizeof(atomic<uint32_t>) == sizeof(uint32_t));

}  // namespace stepped
