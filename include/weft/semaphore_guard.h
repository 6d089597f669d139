// semaphore_guard.h: units of a semaphore that are given back at the end of a block.
//
//     weft::counting_semaphore<> slots(8);
//     weft::weighted_semaphore memory(64 << 20);
//     …
//     const weft::semaphore_guard slot(slots);
//     weft::semaphore_guard bytes(memory, image.size());
//
// As std::unique_lock for a mutex: it may own no units, and it may be moved, also to another
// thread. The semaphore must outlive it.
//
// Threads: one at a time; units may be given back by another thread than took them.
// See: docs/semaphore.md
#pragma once

#include <concepts>
#include <cstdint>
#include <mutex>
#include <utility>

#include <weft/detail/require.h>

namespace weft {

/// Semaphore: weft::counting_semaphore<N>, weft::weighted_semaphore, or another type with acquire()
/// and release().
template <typename Semaphore>
class semaphore_guard {
public:
    /// Owns nothing.
    semaphore_guard() noexcept = default;

    /// Takes a unit, as s.acquire().
    explicit semaphore_guard(Semaphore& s) : semaphore_(&s) { s.acquire(); }

    /// Takes n units, as s.acquire(n).
    semaphore_guard(Semaphore& s, int64_t n)
        requires requires { s.acquire(n); }
        : semaphore_(&s), units_(n) {
        s.acquire(n);
    }

    /// Takes a unit, or n units, if that is possible at once; otherwise owns nothing.
    semaphore_guard(Semaphore& s, std::try_to_lock_t /*how*/) : semaphore_(s.try_acquire() ? &s : nullptr) {}

    semaphore_guard(Semaphore& s, int64_t n, std::try_to_lock_t /*how*/)
        requires requires { s.try_acquire(n); }
        : semaphore_(s.try_acquire(n) ? &s : nullptr), units_(n) {}

    /// Owns a unit, or n units, that the caller has taken.
    semaphore_guard(Semaphore& s, std::adopt_lock_t /*how*/) noexcept : semaphore_(&s) {}

    semaphore_guard(Semaphore& s, int64_t n, std::adopt_lock_t /*how*/) noexcept : semaphore_(&s), units_(n) {}

    semaphore_guard(semaphore_guard&& other) noexcept
        : semaphore_(std::exchange(other.semaphore_, nullptr)), units_(other.units_) {}

    /// Gives back what it owned before.
    semaphore_guard& operator=(semaphore_guard&& other) noexcept {
        semaphore_guard old(std::move(other));
        std::swap(semaphore_, old.semaphore_);
        std::swap(units_, old.units_);
        return *this;
    }

    ~semaphore_guard() { release(); }

    /// Gives the units back now. Does nothing if it owns none.
    void release() noexcept {
        Semaphore* const from = std::exchange(semaphore_, nullptr);
        if (from != nullptr) from->release(units_);
    }

    /// Gives up the units without giving them back, and returns their number; 0 if it owns none.
    [[nodiscard]] int64_t disown() noexcept { return std::exchange(semaphore_, nullptr) != nullptr ? units_ : 0; }

    [[nodiscard]] bool owns_units() const noexcept { return semaphore_ != nullptr; }

    explicit operator bool() const noexcept { return owns_units(); }

private:
    Semaphore* semaphore_ = nullptr;
    int64_t units_ = 1;
};

}  // namespace weft
