// weighted_semaphore.cc: see weft/weighted_semaphore.h.
#include <stdexcept>
#include <string>

#include <weft/detail/step.h>
#include <weft/weighted_semaphore.h>

#include "base/abandoned.h"
#include "base/assert.h"
#include "wait/semaphore_waiter.h"
#include "wait/wake_list.h"

namespace weft {

using detail::operation;
using detail::wait_result;

struct weighted_semaphore::request : detail::semaphore_waiter {
    request(weighted_semaphore* of, int64_t units) noexcept : semaphore_waiter(of, abandoned), n(units) {}

    const int64_t n;

private:
    static void abandoned(const semaphore_waiter& w) noexcept {
        const auto& mine = static_cast<const request&>(w);
        // If it was given nothing, those behind it may fit now.
        static_cast<weighted_semaphore*>(static_cast<void*>(w.slot))->give(w.ok ? mine.n : 0);
    }
};

weighted_semaphore::weighted_semaphore(int64_t size) : size_(size), available_(size) {
    if (size < 0)
        throw std::invalid_argument("weft: weighted_semaphore: the size is " + std::to_string(size) +
                                    "; it must not be negative");
}

weighted_semaphore::~weighted_semaphore() {
    lock_.lock();
    if (!waiters_.empty() && !detail::abandoned::may_be(true))
        detail::fatal(
            "a weft::weighted_semaphore was destroyed while a thread waited for it; let its waiters return first");
    waiters_.forget_all();
    lock_.unlock();
}

bool weighted_semaphore::try_acquire(int64_t n) {
    if (n < 0 || n <= size_) return take(n, 0);
    return false;
}

void weighted_semaphore::acquire(int64_t n) { static_cast<void>(take(n, detail::never)); }

bool weighted_semaphore::take(int64_t n, int64_t deadline_ns) {
    if (n < 0 || n > size_)
        throw std::invalid_argument("weft: weighted_semaphore: " + std::to_string(n) +
                                    " units were asked for; the number must be from 0 to the size, " +
                                    std::to_string(size_));
    detail::step(operation::semaphore_acquire, this);
    lock_.lock();
    if (waiters_.empty() && n <= available_) {
        available_ = available_ - n;
        lock_.unlock();
        return true;
    }
    if (deadline_ns == 0) {
        lock_.unlock();
        return false;
    }
    request me(this, n);
    const wait_result result = detail::wait_cancellable(lock_, {.me = me,
                                                                .queue = waiters_,
                                                                .bits = 0,
                                                                .reason = detail::wait_reason::semaphore_acquire,
                                                                .deadline_ns = deadline_ns});
    if (result == wait_result::served) return true;
    give(0);  // those behind it may fit
    if (result != wait_result::timed_out) detail::throw_interrupted(result);
    return false;
}

void weighted_semaphore::release(int64_t n) noexcept {
    detail::step(operation::semaphore_release, this);
    give(n);
}

void weighted_semaphore::give(int64_t n) noexcept {
    lock_.lock();
    const int64_t taken = size_ - available_;
    if (n < 0 || n > taken) {
        lock_.unlock();
        detail::fatal(
            "release(%lld) of a weft::weighted_semaphore of which %lld units are taken; pair each release with an "
            "acquire of as many",
            static_cast<long long>(n), static_cast<long long>(taken));
    }
    available_ = available_ + n;
    detail::wake_list woken;
    // One that has left the queue by itself, but is still linked, calls give().
    for (detail::waiter* w = waiters_.front(); w != nullptr; w = waiters_.front()) {
        const int64_t needed = static_cast<request*>(w)->n;
        if (needed > available_) break;
        waiters_.remove(*w);
        if (w->claim != nullptr && !w->claim->try_claim(w->which, w->must_ready)) continue;
        available_ = available_ - needed;
        w->ok = true;
        woken.add(*w);
    }
    lock_.unlock();
    woken.wake();
}

int64_t weighted_semaphore::available() const noexcept {
    lock_.lock();
    const int64_t n = available_;
    lock_.unlock();
    return n;
}

}  // namespace weft
