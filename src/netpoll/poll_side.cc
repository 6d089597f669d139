// poll_side.cc: see poll_side.h.
#include "netpoll/poll_side.h"

#include <cstddef>

namespace weft::detail {

wait_result poll_side::wait_after(uint32_t seen, wait_reason reason, int64_t deadline_ns) noexcept {
    const uint32_t bits = word_.lock_bits();
    if (edges_of(bits) != seen) {
        word_.unlock_bits(bits);
        return wait_result::served;
    }
    const auto pass = [](lock_waiter& w, bool served) noexcept {
        if (served) static_cast<poll_side*>(static_cast<void*>(w.slot))->pass_on();
    };
    lock_waiter me(this, pass);
    return wait_cancellable(
        word_, {.me = me, .queue = waiters_, .bits = bits | waiting, .reason = reason, .deadline_ns = deadline_ns});
}

void poll_side::wake_next() noexcept {
    uint32_t bits = word_.lock_bits();
    waiter* w = waiters_.pop_claimed();
    if (waiters_.empty()) bits &= ~waiting;
    word_.unlock_bits(bits);
    if (w != nullptr) ready(*w);
}

waiter* poll_side::count_edge(const atomic<uint64_t>& file_word, uint32_t generation, bool hung_up) noexcept {
    uint32_t bits = word_.lock_bits();
    waiter* w = nullptr;
    if (generation_of(file_word.load(relaxed)) == generation) {  // relaxed: S2
        if (hung_up) hung_up_.store(true, relaxed);              // R1
        w = waiters_.pop_claimed();
        bits += edge;
    }
    if (waiters_.empty()) bits &= ~waiting;
    word_.unlock_bits(bits);  // R1
    if (w != nullptr) w->next = nullptr;
    return w;
}

void poll_side::prefetch_waiter() const noexcept {
    // Below it are the frames of the wait, above it those of the call and its callers.
    constexpr std::ptrdiff_t lines_below = 1;
    constexpr std::ptrdiff_t lines_above = 6;
    const auto* w = static_cast<const char*>(waiters_.front_hint());
    if (w == nullptr) return;
    for (std::ptrdiff_t i = -lines_below; i <= lines_above; ++i) __builtin_prefetch(w + i * std::ptrdiff_t{cache_line});
}

waiter* poll_side::renew_locked() noexcept {
    hung_up_.store(false, relaxed_locked);
    drained_.store(1, relaxed);  // relaxed: as set_drained
    return waiters_.pop_all_claimed();
}

void poll_side::wake_all() noexcept {
    const uint32_t bits = word_.lock_bits();
    waiter* all = waiters_.pop_all_claimed();
    word_.unlock_bits((bits + edge) & edges_mask);
    ready_all(all);
}

void poll_side::nudge_for(const atomic<uint64_t>& file_word, uint32_t generation, bool stays_drained) noexcept {
    const uint32_t bits = word_.lock_bits();
    if (generation_of(file_word.load(relaxed)) != generation) {  // relaxed: S2
        word_.unlock_bits(bits);
        return;
    }
    waiter* all = waiters_.pop_all_claimed();
    const uint32_t next = (bits + edge) & edges_mask;
    // relaxed: locked, or a later edge corrects it
    if (stays_drained && drained_.load(relaxed) == edges_of(bits)) drained_.store(next, relaxed);
    word_.unlock_bits(next);
    ready_all(all);
}

void poll_side::nudge(const atomic<uint64_t>& file_word, uint32_t generation) noexcept {
    nudge_for(file_word, generation, false);
}

void poll_side::look_again(const atomic<uint64_t>& file_word, uint32_t generation) noexcept {
    nudge_for(file_word, generation, true);
}

uint32_t poll_side::waiters_for_test() noexcept {
    const uint32_t bits = word_.lock_bits();
    uint32_t count = 0;
    for (const waiter* w = waiters_.front(); w != nullptr; w = w->next) ++count;
    word_.unlock_bits(bits);
    return count;
}

void poll_side::forget_waiters() noexcept {
    waiters_.forget_all();
    word_.reset_after_fork((word_.word().load(relaxed_alone) + edge) & edges_mask);
}

}  // namespace weft::detail
