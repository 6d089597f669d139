// p_watch.h: what the monitor (sysmon.h) has seen each P do, and which Ps it takes away for that.
//
// The problem. An M that runs a G does not look around: the G may compute for a second, or block in a
// system call. What it does must be told from outside, from counters and the CPU clock of its thread,
// and without an effect on the M.
//
// Each P whose M is outside of the runtime, and has not scheduled since the last look, has an
// allowance. It is over when
//
//   the M is in a blocking call for            call_allowance_ns
//   the M is blocked: it has used no CPU for   blocked_allowance_ns, and does not want to run
//   the M computes for                         a slice. Then it is asked to yield. Its P is taken when it
//                                              has run for after_request_ns more, or after
//                                              preempt_grace_ns if it gets no CPU
//
// The allowance of a call counts from when the call was first seen; a slice from when the schedule
// was, whatever calls were made since. Gs that come from run_next share a slice (schedule.h). When that
// is over, and others are queued, the G that runs is asked to yield, although it may have begun just
// then; its P is taken only when it has run for a slice by itself.
//
// Calls that block and return between two looks are noticed too: the M's CPU clock, and the time that
// the system says it waited for a CPU, do not add up to the time that has passed.
//
// If the monitor comes late, the machine was busy elsewhere or stopped, and nothing can be said about
// that time: disregard() discounts it. What was seen before still counts. Otherwise a process that is
// stopped again and again, as with a small CPU quota, would never reach the end of a slice.
//
// Threads: the monitor's.
// Locks:   monitor's looking_, while Ms are looked at.
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

    // Looks that come earlier are asked for from pace.
    explicit p_watch(monitor_pace& pace) noexcept : pace_(pace) {}

    // Returns 0 or an errno value.
    [[nodiscard]] int start(scheduler& s) noexcept;

    // Looks at all Ps. some_wait: work waits for a P, so allowances count. takes_all: takes what can be
    // taken (RUN_DEBUG=retake=always). Fills all, of candidates_max; returns their number.
    uint32_t look(candidate* all, bool some_wait, bool takes_all, int64_t now_ns) noexcept;

    // Whether the last look saw something amiss: monitor_pace.h.
    [[nodiscard]] bool amiss() const noexcept { return amiss_; }

    // Forgets what was seen: of all Ps, or of the one with this number.
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
        int64_t slice_since_ns = 0;  // when this slice was first seen
        int64_t since_ns = 0;        // when this schedule was first seen
        int64_t call_since_ns = 0;   // when this call was, or the schedule: for the call's allowance
        int64_t cpu_at_ns = 0;       // when cpu_ns was read; 0: not yet
        int64_t cpu_ns = 0;
        int64_t asked_ns = 0;  // when it was asked to yield; 0: it was not

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
