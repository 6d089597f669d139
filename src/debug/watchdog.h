// watchdog.h: reports green threads that delay others or are delayed: once each, at a limited rate.
//
// The monitor looks four times per allowed time. An M with the same G and an unchanged count of its
// P's schedules has not scheduled since the last look. A runnable G with the same runnable-since
// time still waits. That time is from its P's clock, so after each look Ps with work must pass
// through g0, where they read the clock.
//
// A look more than late_ns late says nothing about Gs, because the process was stopped or had no
// CPU. It is reported, and watching restarts.
//
// Rejected. A timer signal per thread: EINTR in user code. Always on: idle processes would wake up.
//
// Threads: the monitor.
// See:     docs/debugging.md
#pragma once

#include <cstdint>

#include <weft/detail/wait.h>

namespace weft::detail {

struct G;
struct P;
struct M;
struct scheduler;

struct watched {
    static constexpr int64_t late_ns = 500'000'000;
    static constexpr int looks = 4;  // in the allowed time
    static constexpr int64_t shortest_period_ns = 1'000'000;
    static constexpr uint32_t reports_max = 5;  // per minute
    static constexpr int64_t minute_ns = 60'000'000'000;

    watched(const scheduler& s, int64_t allowed_ns) noexcept;

    [[nodiscard]] int64_t period_ns() const noexcept { return period_ns_; }

    void look(scheduler& s, int64_t now_ns, int64_t late_by_ns) noexcept;

    // Discards what was seen, so that the time since does not count for Gs.
    void forget() noexcept { forgets_ = true; }

private:
    static constexpr uint32_t found_max = 8;
    static constexpr uint32_t queued_max = 64;  // the most that are watched

    // A G that has run for too long.
    struct finding {
        const G* g;
        uint64_t id;
        int64_t ns;
    };

    // A G that was runnable at the last look.
    struct queued {
        const G* g = nullptr;
        uint64_t id = 0;
        int64_t since_ns = 0;  // the G's own value
        int64_t seen_ns = 0;   // of the first such look
        bool reported = false;
        bool still = false;
    };

    void look_at_running(scheduler& s, int64_t now_ns) noexcept;
    bool is_overdue(M& m, int64_t now_ns, finding& f) const noexcept;
    void look_at_queued(scheduler& s, int64_t now_ns) noexcept;
    void see_queued(const G& g, uint64_t id, int64_t since_ns, int64_t now_ns) noexcept;
    [[nodiscard]] bool may_report(int64_t now_ns) noexcept;

    const int64_t allowed_ns_;
    const int64_t period_ns_;
    bool forgets_ = true;
    int64_t minute_began_ns_ = 0;
    uint32_t reports_ = 0;  // in this minute
    uint64_t left_out_ = 0;
    queued queued_[queued_max];
};

// Prints a line in the form of Go's schedtrace; with detail, also one per P, M and G. ms: since the
// start.
void print_trace(scheduler& s, int64_t ms, bool detail) noexcept;

}  // namespace weft::detail
