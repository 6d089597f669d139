// rate_limiter.h: at most so many per second, and a few more at once after a pause.
//
//     weft::rate_limiter calls({.tokens = 100, .per = 1s, .burst = 20});
//     calls.acquire();                    // waits for its turn
//     if (!calls.try_acquire()) …         // refuses
//
// A token bucket, like Go's golang.org/x/time/rate: it holds at most `burst` tokens, is full at
// first, and gets `tokens` new ones in each `per`, evenly. Each call takes tokens, and they are not
// given back. The count is exact: no rounding adds up. Time is that of weft, so in a simulation it
// is virtual.
//
// Callers get their tokens in order of arrival: one that needs many waits until they are there, and
// later ones wait behind it. A caller that is interrupted takes no tokens, and the next one
// proceeds at the earliest time that the rate allows.
//
// acquire() and the timed forms are cancellation points where they wait. The limiter may be
// destroyed when the last call has returned. A green thread that is abandoned while it waits may
// block the callers behind it, as with a mutex that it holds.
//
// Threads: any thread. See: docs/patterns.md
#pragma once

#include <chrono>
#include <cstdint>

#include <weft/detail/require.h>
#include <weft/detail/spin_lock.h>
#include <weft/detail/time_point.h>
#include <weft/semaphore.h>

namespace weft {

/// How many tokens a limiter gives out.
struct rate_limit {
    int64_t tokens = 1;  ///< new tokens in each `per`
    std::chrono::nanoseconds per = std::chrono::seconds(1);
    int64_t burst = 1;  ///< how many there may be at a time
};

class rate_limiter {
public:
    /// Throws std::invalid_argument unless all three are positive, and the product of burst and per
    /// in nanoseconds is at most 2^62 (a second: bursts of 4.6e9).
    explicit rate_limiter(const rate_limit& limit);

    rate_limiter(const rate_limiter&) = delete;
    rate_limiter& operator=(const rate_limiter&) = delete;

    /// Takes n tokens, waiting for them if necessary. A cancellation point where it waits: throws
    /// weft::cancelled or weft::timed_out, without tokens. Throws std::invalid_argument unless n is
    /// from 0 to the burst.
    void acquire(int64_t n = 1) { static_cast<void>(take(n, detail::never)); }

    /// Takes n tokens if they are there and no other caller waits. Never waits. False also if n is
    /// above the burst. Throws std::invalid_argument if n is negative.
    [[nodiscard]] bool try_acquire(int64_t n = 1);

    /// As acquire(), but returns false if timeout passes first, or as soon as it is certain that it
    /// will. Does not wait if timeout is zero or less.
    template <typename Rep, typename Period>
    [[nodiscard]] bool try_acquire_for(int64_t n, std::chrono::duration<Rep, Period> timeout) {
        return take(n, timeout > timeout.zero() ? detail::deadline_after(timeout) : 0);
    }

    /// The same with a deadline.
    template <typename Clock, typename Duration>
    [[nodiscard]] bool try_acquire_until(int64_t n, std::chrono::time_point<Clock, Duration> when) {
        return take(n, detail::deadline_at(when));
    }

    /// How many tokens are there; a snapshot.
    [[nodiscard]] int64_t available() noexcept;

    [[nodiscard]] const rate_limit& limit() const noexcept { return limit_; }

private:
    class place;

    bool take(int64_t n, int64_t deadline_ns);
    bool take_in_turn(int64_t n, int64_t deadline_ns);
    void refill_locked(int64_t now_ns) noexcept WEFT_REQUIRES(lock_);
    [[nodiscard]] bool take_locked(int64_t n) noexcept WEFT_REQUIRES(lock_);

    const rate_limit limit_;
    const int64_t full_;        // parts in a full bucket
    binary_semaphore turn_{1};  // the caller that waits for tokens has it; the others wait for it
    detail::spin_lock lock_;
    // Guarded by lock_. A token is limit_.per parts; each nanosecond brings limit_.tokens parts.
    int64_t parts_ WEFT_GUARDED_BY(lock_);
    int64_t counted_ns_ WEFT_GUARDED_BY(lock_);    // parts_ was right then
    uint32_t waiting_ WEFT_GUARDED_BY(lock_) = 0;  // callers that wait, also for turn_
};

}  // namespace weft
