// p_watch.h: what the monitor (sysmon.h) has seen each P do, and which Ps it takes away for that.
//
// It watches Ms from outside, without an effect on them, by counters and their threads' CPU clocks.
// Each P whose M is outside of the runtime, and has not scheduled since the last check, has an
// allowance. It is over when
//
//   the M is in a blocking call for            call_allowance_ns
//   the M is blocked: it has used no CPU for   blocked_allowance_ns, and does not want to run
//   the M computes for                         a slice. Then it is asked to yield. Its P is taken when it
//                                              has run for after_request_ns more, or after
//                                              preempt_grace_ns
//
// docs/sysmon.md says from when an allowance counts, how Gs share a slice, how calls that return
// between two checks are noticed, and what disregard() is for.
//
// Threads: the monitor's.
// Locks:   monitor's checking_ps_, while Ms are checked.
// See:     docs/retake.md, docs/sysmon.md
#pragma once

#include <cstdint>
#include <cstdlib>
#include <memory>

#include "base/atomic.h"
#include "monitor/monitor_pace.h"

namespace weft::detail {

struct M;
struct P;
struct scheduler;

class p_watch {
public:
    static constexpr int64_t preempt_grace_ns = 1'000'000;
    static constexpr int64_t after_request_ns = 100'000;
    static constexpr int64_t blocked_allowance_ns = 200'000;
    static constexpr int64_t call_allowance_ns = 100'000;
    static constexpr uint32_t candidates_max = 16;

    enum class why : uint8_t { none, blocked, burning, in_call, surplus };

    // A P to be taken from m.
    struct candidate {
        uint32_t p;
        M* m;
        why reason;
    };

    // Asks pace for earlier scans.
    explicit p_watch(monitor_pace& pace) noexcept : pace_(pace) {}

    // Returns 0 or an errno value.
    [[nodiscard]] int start(scheduler& s) noexcept;

    // some_wait: work waits for a P, so allowances count. takes_all: takes what can be taken
    // (RUN_DEBUG=retake=always). Fills all, of candidates_max; returns their number.
    uint32_t check_ps(candidate* all, bool some_wait, bool takes_all, int64_t now_ns) noexcept;

    // Whether the last check saw something amiss.
    [[nodiscard]] bool amiss() const noexcept { return amiss_; }

    // Forgets what was seen of all Ps, or of P number p.
    void forget() noexcept;

    void forget(uint32_t p) noexcept { seen_[p] = {}; }

    // The last missed_ns count for no P.
    void disregard(int64_t missed_ns, int64_t now_ns) noexcept;

    atomic<uint64_t> requests{0};  // to yield; for stats

private:
    // What one P was doing when it was last seen to schedule.
    struct observation {
        const M* m = nullptr;
        uint64_t tick = 0;
        uint64_t slice = 0;
        uint64_t calls = 0;
        int64_t slice_since_ns = 0;  // the slice, first seen
        int64_t since_ns = 0;        // the schedule, first seen
        int64_t call_since_ns = 0;   // the call, or the schedule, first seen
        int64_t cpu_at_ns = 0;       // when cpu_ns was read; 0: not yet
        int64_t cpu_ns = 0;
        int64_t asked_ns = 0;  // when it was asked to yield; 0: not yet

        // Since the M was first seen to have missed CPU time.
        int64_t missed_at_ns = 0;    // when that was; 0: not yet
        int64_t missed_cpu_ns = 0;   // what its clocks said then
        int64_t missed_wait_ns = 0;  // …
        int64_t blocked_ns = 0;      // for how long it has neither run nor waited for a CPU since
    };

    bool observe(observation& seen, const P& p, const M* m, int64_t now_ns) noexcept;
    why judge(observation& seen, bool as_before, P& p, const M* m, int64_t now_ns) noexcept;
    why judge_late(observation& seen, P& p, const M* m, int64_t now_ns) noexcept;
    void ask_to_yield(observation& seen, P& p, const M* m, int64_t now_ns) noexcept;
    void end_chain(observation& seen, P& p, const M* m, int64_t now_ns) noexcept;
    bool preempt_grace_over(const observation& seen, const M* m, int64_t now_ns) noexcept;
    bool is_blocked(observation& seen, const M* m, int64_t now_ns) noexcept;
    bool has_blocked(observation& seen, const M* m, int64_t now_ns) noexcept;

    scheduler* home_ = nullptr;
    monitor_pace& pace_;
    std::unique_ptr<observation[], void (*)(void*)> seen_{nullptr, &std::free};  // one per P there may be
    bool amiss_ = false;
    bool takes_all_ = false;
};

}  // namespace weft::detail
