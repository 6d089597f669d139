// codel.h: when a queue is overloaded, and how often to refuse: CoDel, RFC 8289.
//
// The delay of an arrival says little, because bursts are harmless. CoDel looks at the minimum: if
// the delay was above the target for a whole interval, the queue does not drain.
//
// Times are ns on any clock that does not go back; the caller reads it.
//
// Threads: measured, begun: one thread at a time. The others: any thread.
// See:     docs/queue_delay.md
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <mutex>

#include "base/atomic.h"

namespace weft::observe::detail {

class codel {
public:
    codel(int64_t target_ns, int64_t interval_ns) noexcept : target_ns_(target_ns), interval_ns_(interval_ns) {}

    // A measurement begins.
    void begun(int64_t now_ns) noexcept { under_way_since_.store(now_ns, weft::detail::relaxed_count); }

    // It has ended.
    void measured(int64_t delay_ns, int64_t now_ns) noexcept {
        under_way_since_.store(none, weft::detail::relaxed_count);
        last_.store(delay_ns, weft::detail::relaxed_count);
        const int64_t mean = smoothed_.load(weft::detail::relaxed_count);
        smoothed_.store(mean + (delay_ns - mean) / 8, weft::detail::relaxed_count);
        note_minimum(delay_ns, now_ns);
        if (delay_ns <= target_ns_) {
            bad_since_.store(none, weft::detail::relaxed_count);
        } else if (bad_since_.load(weft::detail::relaxed_count) == none) {
            bad_since_.store(now_ns - delay_ns + target_ns_, weft::detail::relaxed_count);
        }
    }

    [[nodiscard]] int64_t last_ns(int64_t now_ns) const noexcept {
        return std::max(last_.load(weft::detail::relaxed_count), age_ns(now_ns));
    }

    [[nodiscard]] int64_t smoothed_ns(int64_t now_ns) const noexcept {
        return std::max(smoothed_.load(weft::detail::relaxed_count), age_ns(now_ns));
    }

    // Of the last interval, or of up to two.
    [[nodiscard]] int64_t minimum_ns(int64_t now_ns) const noexcept {
        const int64_t age = age_ns(now_ns);
        if (age >= interval_ns_) return age;
        return std::min(before_.load(weft::detail::relaxed_count), current_.load(weft::detail::relaxed_count));
    }

    [[nodiscard]] bool overloaded(int64_t now_ns) const noexcept {
        int64_t since = bad_since_.load(weft::detail::relaxed_count);
        if (since == none) {
            const int64_t begun_ns = under_way_since_.load(weft::detail::relaxed_count);
            if (begun_ns == none) return false;
            since = begun_ns + target_ns_;
        }
        return now_ns - since >= interval_ns_;
    }

    // Whether to refuse one request now.
    [[nodiscard]] bool should_shed(int64_t now_ns) noexcept {
        if (!overloaded(now_ns)) return false;
        const std::lock_guard held(shedding_);
        // A relapse continues at the rate that was reached before, as in RFC 8289.
        if (now_ns - last_shed_ns_ > 8 * interval_ns_) {
            count_ = 0;
            next_shed_ns_ = now_ns;
        }
        if (now_ns < next_shed_ns_) return false;
        ++count_;
        last_shed_ns_ = now_ns;
        next_shed_ns_ = now_ns + static_cast<int64_t>(static_cast<double>(interval_ns_) / std::sqrt(count_));
        return true;
    }

private:
    static constexpr int64_t none = -1;

    [[nodiscard]] int64_t age_ns(int64_t now_ns) const noexcept {
        const int64_t begun_ns = under_way_since_.load(weft::detail::relaxed_count);
        return begun_ns == none ? 0 : now_ns - begun_ns;
    }

    void note_minimum(int64_t delay_ns, int64_t now_ns) noexcept {
        if (now_ns - window_began_ns_ >= interval_ns_) {
            const bool is_next = window_began_ns_ != none && now_ns - window_began_ns_ < 2 * interval_ns_;
            before_.store(is_next ? current_.load(weft::detail::relaxed_count) : delay_ns, weft::detail::relaxed_count);
            current_.store(delay_ns, weft::detail::relaxed_count);
            window_began_ns_ = now_ns;
        } else if (delay_ns < current_.load(weft::detail::relaxed_count)) {
            current_.store(delay_ns, weft::detail::relaxed_count);
        }
    }

    const int64_t target_ns_;
    const int64_t interval_ns_;
    weft::detail::atomic<int64_t> under_way_since_{none};
    weft::detail::atomic<int64_t> last_{0};
    weft::detail::atomic<int64_t> smoothed_{0};
    weft::detail::atomic<int64_t> bad_since_{none};  // when the delay passed the target
    weft::detail::atomic<int64_t> before_{0};        // the minimum of the window before
    weft::detail::atomic<int64_t> current_{0};       // and of this one
    int64_t window_began_ns_ = none;                 // by the measuring thread

    std::mutex shedding_;  // held for a few instructions
    double count_ = 0;     // guarded by shedding_, as the next two
    int64_t next_shed_ns_ = 0;
    int64_t last_shed_ns_ = INT64_MIN / 2;
};

}  // namespace weft::observe::detail
