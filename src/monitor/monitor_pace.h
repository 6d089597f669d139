// monitor_pace.h: how often the monitor (sysmon.h) scans.
//
// Work that waits for a P must be seen within a millisecond. A scan costs about 20 us of CPU with
// its wake-up, so a program in which every G gives way in time should cause few.
//
//     | state   | while | the next scan |
//     |---------|-------|---------------|
//     | hot     | a P was taken away, in the last hot_scans scans           | after hot_ns |
//     | active  | work is queued, or was in the last quiet_scans scans      | after scan_ns |
//     | calm    | active, but calm_scans scans in a row saw nothing amiss   | doubles up to calm_ns |
//     | polling | nothing is queued, and the poller depends on the monitor; | after poll_ns |
//     |         | then for io_scans scans that saw an idle P                |               |
//     | dormant | none of these                                             | when called, or for a timer |
//
// docs/sysmon.md says what is amiss, and what retaken_scans, patient_scans and soon_ns are for.
//
// Threads: the monitor's.
// See:     docs/sysmon.md
#pragma once

#include <algorithm>
#include <cstdint>

namespace weft::detail {

class monitor_pace {
public:
    static constexpr int64_t hot_ns = 100'000;
    static constexpr int64_t scan_ns = 1'000'000;
    static constexpr int64_t calm_ns = 12'000'000;
    static constexpr int64_t poll_ns = 10'000'000;
    static constexpr int64_t soon_ns = 10'000'000;
    static constexpr int hot_scans = 100;
    static constexpr int quiet_scans = 4;
    static constexpr int patient_scans = 12;
    static constexpr int calm_scans = 50;
    static constexpr int calm_doublings = 4;
    static constexpr int retaken_scans = 1'000;
    static constexpr int io_scans = 10;

    void begin_scan(bool queued) noexcept {
        quiet_ = queued ? 0 : quiet_ + 1;
        next_in_ns_ = period_ns();
        if (hot_ > 0) --hot_;
    }

    // Nothing is queued, and the poller is in use. needed: no other thread polls.
    void poll(bool needed) noexcept {
        if (needed) {
            io_ = io_scans;
        } else if (io_ == 0) {
            return;
        } else {
            --io_;
        }
        quiet_ = io_ == 0 ? quiet_scans : 0;
        next_in_ns_ = poll_ns;
    }

    void stay_active() noexcept { quiet_ = 0; }

    // The next scan is due within ns from the beginning of this one.
    void within(int64_t ns) noexcept { next_in_ns_ = std::min(next_in_ns_, ns); }

    // The Ps were checked while work waited.
    void judged(bool amiss) noexcept {
        if (amiss) {
            calm_ = std::min(calm_, 0);
        } else if (calm_ < calm_scans + calm_doublings) {
            ++calm_;
        }
        within(period_ns());
    }

    // A P was taken away; blocked: from an M that blocked.
    void took_p(bool blocked) noexcept {
        if (blocked) calm_ = -retaken_scans;
        hot_ = hot_scans;
        within(hot_ns);
    }

    enum class woken_by : uint8_t {
        work,         // a call, a timer
        work_soon,    // the same within soon_ns after it went dormant
        poller_soon,  // the same, and no thread polls
        other,        // its own business: observers, memory, deadlocks
    };

    // It was dormant. waits: work may wait for a P now.
    void become_active(woken_by by, bool waits) noexcept {
        if (by == woken_by::work) calm_ = std::min(calm_, 0);
        if (by == woken_by::poller_soon) io_ = io_scans;
        const bool soon = by == woken_by::work_soon || by == woken_by::poller_soon;
        quiet_ = soon ? -patient_scans : waits && by == woken_by::work ? 0 : quiet_scans - 1;
    }

    [[nodiscard]] bool goes_dormant() const noexcept { return quiet_ >= quiet_scans; }

    [[nodiscard]] int64_t next_in_ns() const noexcept { return next_in_ns_; }

private:
    [[nodiscard]] int64_t period_ns() const noexcept {
        if (hot_ > 0) return hot_ns;
        if (calm_ < calm_scans || quiet_ > 0) return scan_ns;  // quiet: until it is dormant it is not called
        return std::min(scan_ns << (calm_ - calm_scans), calm_ns);
    }

    int64_t next_in_ns_ = scan_ns;
    int quiet_ = 0;  // scans in a row that saw nothing queued
    int hot_ = 0;    // scans to come that are hot
    int calm_ = 0;   // scans in a row that saw nothing amiss, less those that do not count
    int io_ = 0;     // scans to come for the poller's sake
};

}  // namespace weft::detail
