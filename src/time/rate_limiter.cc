// rate_limiter.cc: see weft/rate_limiter.h.
//
// One caller at a time has the turn. It sleeps until its tokens are there, and takes them. The
// others wait for the turn, whose semaphore is fair. Nothing is taken before the sleep has ended,
// so an interrupted caller has nothing to give back, and its successor computes its own time.
//
// Rejected: Reserving tokens in advance, as Go's does. If a caller in the middle is interrupted,
//           those behind it keep their later times, and a newcomer may take the freed tokens before
//           them.
#include <algorithm>
#include <stdexcept>
#include <string>

#include <weft/detail/spin_lock.h>
#include <weft/detail/step.h>
#include <weft/detail/thread_safety.h>
#include <weft/rate_limiter.h>
#include <weft/time.h>

namespace weft {

namespace {

constexpr int64_t most_parts = int64_t{1} << 62;

int64_t parts_of(const rate_limit& limit) {
    if (limit.tokens <= 0 || limit.per.count() <= 0 || limit.burst <= 0)
        throw std::invalid_argument("weft: rate_limit: tokens, per and burst must be positive");
    if (limit.burst > most_parts / limit.per.count())
        throw std::invalid_argument("weft: rate_limit: a burst of " + std::to_string(limit.burst) +
                                    " is too large for its `per`; use a shorter `per` with fewer tokens");
    return limit.burst * limit.per.count();
}

class WEFT_GUARD_CLASS guard {
public:
    explicit guard(detail::spin_lock& lock) noexcept WEFT_ACQUIRE(lock) : lock_(lock) { lock.lock(); }

    ~guard() WEFT_RELEASE() { lock_.unlock(); }

    guard(const guard&) = delete;
    guard& operator=(const guard&) = delete;

private:
    detail::spin_lock& lock_;
};

}  // namespace

// Counts a caller as waiting, and has the turn once it is given.
class rate_limiter::place {
public:
    explicit place(rate_limiter& l) noexcept : limiter_(l) {}

    place(const place&) = delete;
    place& operator=(const place&) = delete;

    ~place() {
        limiter_.lock_.lock();
        --limiter_.waiting_;
        limiter_.lock_.unlock();
        if (has_turn_) limiter_.turn_.release();
    }

    [[nodiscard]] bool wait(int64_t deadline_ns) {
        if (deadline_ns == detail::never) {
            limiter_.turn_.acquire();
            has_turn_ = true;
        } else {
            has_turn_ = limiter_.turn_.try_acquire_until(
                std::chrono::steady_clock::time_point(std::chrono::nanoseconds(deadline_ns)));
        }
        return has_turn_;
    }

private:
    rate_limiter& limiter_;
    bool has_turn_ = false;
};

rate_limiter::rate_limiter(const rate_limit& limit)
    : limit_(limit), full_(parts_of(limit)), parts_(full_), counted_ns_(detail::now_ns()) {}

void rate_limiter::refill_locked(int64_t now_ns) noexcept {
    const int64_t passed = now_ns - counted_ns_;
    if (passed <= 0) return;
    counted_ns_ = now_ns;
    const int64_t missing = full_ - parts_;
    parts_ = passed >= missing / limit_.tokens + 1 ? full_ : (std::min)(full_, parts_ + passed * limit_.tokens);
}

bool rate_limiter::take_locked(int64_t n) noexcept {
    refill_locked(detail::now_ns());
    const int64_t needed = n * limit_.per.count();
    if (parts_ < needed) return false;
    parts_ -= needed;
    return true;
}

bool rate_limiter::try_acquire(int64_t n) {
    if (n > limit_.burst) return false;
    return take(n, 0);
}

bool rate_limiter::take(int64_t n, int64_t deadline_ns) {
    if (n < 0 || n > limit_.burst)
        throw std::invalid_argument("weft: rate_limiter: " + std::to_string(n) +
                                    " tokens were asked for; the number must be from 0 to the burst, " +
                                    std::to_string(limit_.burst));
    detail::step(detail::operation::semaphore_acquire, this);
    {
        const guard held(lock_);
        if (waiting_ == 0 && take_locked(n)) return true;
        if (deadline_ns == 0) return false;
        ++waiting_;
    }
    return take_in_turn(n, deadline_ns);
}

bool rate_limiter::take_in_turn(int64_t n, int64_t deadline_ns) {
    place mine(*this);
    if (!mine.wait(deadline_ns)) return false;
    for (;;) {
        int64_t there_ns = 0;
        {
            const guard held(lock_);
            if (take_locked(n)) return true;
            const int64_t missing = n * limit_.per.count() - parts_;
            const int64_t wait_ns = (missing - 1) / limit_.tokens + 1;
            there_ns = wait_ns > detail::never - counted_ns_ ? detail::never : counted_ns_ + wait_ns;
        }
        if (there_ns > deadline_ns) return false;
        detail::sleep_until_ns(there_ns);
    }
}

int64_t rate_limiter::available() noexcept {
    const guard held(lock_);
    refill_locked(detail::now_ns());
    return parts_ / limit_.per.count();
}

}  // namespace weft
