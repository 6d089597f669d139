// sysmon.h: the monitor: a thread without a P that ensures that no M holds up the others.
//
// It is active or dormant. While active, it scans: it checks what the Ps do (p_watch.h), as often
// as monitor_pace.h says. If nothing is queued for some scans, it goes dormant: it sleeps until the
// next timer, or until it is called. An idle P that lacks an M (W5 of idle.h) counts as busy.
//
// Being called. The thread by which work begins to wait for a P (docs/sysmon.md) reads idle.wanted,
// whose second bit says that the monitor is dormant:
//
//      the monitor                                     a push by a G
//      F1  dormant = true, wanted published, under     N1  publishes the G, or the timer
//          the lock of the idle protocol               N2  compiler fence
//      F2  heavy fence                                 N3  reads wanted: not 0: under the lock, checks whether
//      F3  scans all queues and timers                     anything waits for a P; if so dormant = false,
//      F4  sleeps until the earliest timer                 and wakes the monitor
//
// It is step 5 of idle.h with the monitor as the sleeper. A G that waits for the timer that it sets
// leaves out N3 (L1 of idle.h). A push from g0 leaves N3 to schedule_loop(), which comes next: the
// pushed G may be the one that runs then. External pushes have a full fence and read wanted, too.
//
// A call during a scan must not be lost, because it may not be repeated (set_max_procs calls once):
//
//      the monitor                                     the caller
//      C1  sleeps: returns at once if notified         T1  changes something, under the idle lock
//      C2  wakes, notified                             T2  notifies it
//      C3  forgets that, under the lock
//      C4  scans
//
// docs/sysmon.md says why that suffices. A reset before the sleep, as is usual with notes, would
// lose what came since C4.
//
// A dump takes long, so wherever its writer (crash.h) holds no lock it calls scan_meanwhile(). That
// is safe because a scan keeps its state in members, and only a sleeper does C3, so no call is
// forgotten. No write of a report may block, and other reports wait for a slow reader for 10 ms.
//
// Rejected: a fixed period, a timer signal, Ms that scan, a call at every push: docs/sysmon.md.
//
// Invariants: I1. While work is queued, no P is idle and no M spins: the monitor is active or about
//                 to be, or the M that pushed is on g0 or in the runtime.
//             I2. idle_state::monitor changes under the idle lock.
// Locks:      checking_ps_, then the idle lock.
// See:        docs/sysmon.md, docs/retake.md
#pragma once

#include <cstdint>

#include <weft/detail/spin_lock.h>
#include <weft/detail/wait.h>

#include "base/atomic.h"
#include "idle/placement.h"
#include "monitor/deadlock_watch.h"
#include "monitor/monitor_pace.h"
#include "monitor/p_watch.h"
#include "os/note.h"
#include "os/os.h"

namespace weft::detail {

struct M;
struct P;
struct scheduler;

// How long after its deadline a stop waits for threads that return by themselves: Ms that run no G
// and write no report, and plain threads in a call. A busy machine may give them no CPU for longer
// than the grace period of stragglers.
inline constexpr int64_t way_back_ns = 5'000'000'000;

class monitor {
public:
    static constexpr int64_t spare_ns = 50'000;  // until a new thread is there
    static constexpr int64_t late_ns = 5'000'000;
    static constexpr int64_t no_fence_ns = 10'000'000;  // the longest sleep without a heavy fence
    static constexpr int64_t cpus_ns = 1'000'000'000;   // between checks of affinity and quota
    static constexpr int64_t delays_ns = 50'000'000;    // between recordings of how long threads wait for CPUs
    static constexpr int64_t trim_part_ns = 500'000;    // of trimming without a pause
    static constexpr int64_t trim_pause_ns = 500'000;
    static constexpr int64_t no_thread_ns = 10'000'000;  // before it asks for a thread again
    static constexpr int64_t parting_ns = 10'000'000;    // that a report may go on once it must end

    monitor() = default;
    monitor(const monitor&) = delete;
    monitor& operator=(const monitor&) = delete;

    // Returns 0 or an errno value. Called once, by the thread that makes s.
    [[nodiscard]] int start(scheduler& s) noexcept;

    // Ends and joins its thread, which then makes no M. False: it has not ended by deadline_ns,
    // because nothing reads its reports, or by way_back_ns after that for another reason. It will
    // end by itself, and needs all that it knows until then.
    bool stop(int64_t deadline_ns = never) noexcept;

    // True if stop() has left it, and it still exists.
    [[nodiscard]] bool is_left() const noexcept { return thread_state_.load(acquire) == left; }  // pairs with run

    // True while it writes a dump, which may take as long as the reader does.
    [[nodiscard]] bool reports() const noexcept { return reports_.load(relaxed_hint); }

    void set_reports(bool reports) noexcept { reports_.store(reports, relaxed_hint); }

    // Requires: it was made active.
    void wake() noexcept { called_.wake(); }

    void scan_soon() noexcept;

    // idle.monitor.watches_deadlock has been set while it was dormant.
    void watch_deadlock() noexcept { wake(); }

    // Makes it give back memory until that is over: trim.h. Requires: the idle lock is not held.
    void watch_memory() noexcept;

    // Waits for checks of the Ps that have begun. After that the monitor does not access an M that
    // holds no P. Not called by the monitor while it checks them.
    void await_check() noexcept;

    // By its own thread within a long task, holding no lock: scans, if it is time. False: it must
    // end, and was told so parting_ns ago.
    [[nodiscard]] bool scan_meanwhile() noexcept;

    [[nodiscard]] bool has_begun() const noexcept { return tid() != 0; }

    // 0 if its thread has not begun.
    [[nodiscard]] int tid() const noexcept { return tid_.load(acquire); }  // pairs with run

    [[nodiscard]] uint64_t requests() const noexcept { return ps_.requests.load(relaxed_count); }

    // What it has done, for stats.
    struct {
        atomic<uint64_t> scans{0}, retakes_blocked{0}, retakes_burning{0}, retakes_in_call{0}, late{0};
    } count;

    // Which CPUs the holders of Ps are on.
    placement spread;

private:
    struct dormant_sleep;

    static void* run(void* self) noexcept;
    void loop() noexcept;
    bool go_dormant() noexcept;
    [[nodiscard]] bool plan_dormant_sleep(dormant_sleep& plan, int64_t now_ns) noexcept;
    bool stay_active() noexcept;
    void begin_watch_if_asked_locked(int64_t now_ns) noexcept;
    void watch_for_deadlock(int64_t now_ns) noexcept;
    [[nodiscard]] bool is_to_end() noexcept;
    void scan_on_time(int64_t now_ns) noexcept;
    void scan(int64_t now_ns) noexcept;
    void poll_for_others(int64_t now_ns) noexcept;
    void ask_for_m_again(int64_t now_ns) noexcept;
    void retake(const p_watch::candidate* all, uint32_t count) noexcept;
    bool take_one_locked(const p_watch::candidate& c, bool fenced) noexcept;
    bool ensure_idle_ms(uint32_t count) noexcept;
    void follow_cpus(int64_t now_ns) noexcept;
    void trim(int64_t now_ns) noexcept;
    void record_delays(int64_t now_ns) noexcept;

    scheduler* home_ = nullptr;

    // The monitor's own.
    monitor_pace pace_;
    p_watch ps_{pace_};
    deadlock_watch deadlock_;
    int64_t planned_ns_ = never;  // when this scan was due
    int64_t end_by_ns_ = never;   // set in a report, once it must end
    int64_t trim_at_ns_ = never;  // when the next part is due; never: not asked for
    int64_t no_threads_until_ns_ = 0;
    int64_t cpus_seen_ns_ = 0;
    int64_t delays_seen_ns_ = 0;
    bool takes_all_ = false;  // with RUN_DEBUG=retake=always, at each second scan

    bool ending_ = false;  // guarded by the idle lock
    bool started_ = false;
    os::thread_id thread_ = 0;

    // left: by stop(); the thread then cleans up after itself.
    static constexpr uint32_t alive = 0;
    static constexpr uint32_t left = 1;
    static constexpr uint32_t ended = 2;
    atomic<uint32_t> thread_state_{alive};
    atomic<bool> reports_{false};
    atomic<bool> watches_memory_{false};  // called for that, not seen yet
    atomic<int> tid_{0};
    note called_;
    spin_lock checking_ps_;  // held while it checks Ms
};

// N3: calls the monitor of s if it is dormant and work has begun to wait for a P. Called by the
// thread that turns an idle P or a spinning M into a running G, or, through after_push(), pushes.
// Requires: the idle lock is not held.
void call_monitor(scheduler& s) noexcept;

}  // namespace weft::detail
