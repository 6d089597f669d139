// sysmon.h: the monitor: a thread without a P that ensures that no M holds up the others.
//
// The problem. If all Ps are held by Ms whose Gs compute or block, queued work waits, and none of these
// Ms will look. A thread must look from outside and take a P away (retake.h). It must cost nothing
// while all is well, and not wake an idle process.
//
// It is near or far. Near, it looks at what the Ps do (p_watch.h), as often as monitor_pace.h says. If
// nothing is queued for some looks, it goes far: it sleeps until the next timer, or until it is called.
//
// A look. Nothing waits for a P if nothing is queued and no timer is due, or if a P is idle or an M
// spins: then the idle protocol is responsible, and the look ends. An idle P that lacks an M (W5 of
// idle.h) counts as busy, and the monitor asks for a thread every no_thread_ns while anything is
// queued.
//
// Being called. Work begins to wait for a P when it is pushed while no P is idle and no M spins, or when
// the last idle P or spinning M has begun to run a G and more is queued. Those that do either read
// idle.wanted, whose second bit says that the monitor is far:
//
//      the monitor                                     a push by a G
//      F1  far = true, wanted published, under the     N1  publishes the G, or the timer
//          lock of the idle protocol                   N2  compiler fence
//      F2  heavy fence                                 N3  reads wanted: not 0: under the lock, looks whether
//      F3  looks at all queues and timers                  anything waits for a P; if so far = false, and
//      F4  sleeps until the earliest timer                 wakes the monitor
//
// It is step 5 of idle.h with the monitor as the sleeper. A G that waits for the timer that it sets
// leaves out N3 (see there). A push from g0 leaves N3 to schedule_loop(), which comes next: the pushed G
// may be the one that runs then. Pushes from outside have a full fence and read wanted, too.
//
// A call may come while it looks: after it has looked at what the call is about, and before it sleeps.
// It must not be lost, because the caller may not call again (set_max_procs calls once):
//
//      the monitor                                     the caller
//      C1  sleeps: returns at once if notified         T1  changes something, under the idle lock
//      C2  wakes, notified                             T2  notifies it
//      C3  forgets that, under the lock
//      C4  looks
//
// If T1 comes before C3, C4 sees the change. Otherwise T2 comes after C3, and the next sleep returns at
// once. A reset before the sleep, as is usual with notes, would lose what came since C4.
//
// Files. While no P is idle, perhaps no thread looks for events of files (netpoll.h). With a poller in
// use it then does not go far, but looks every poll_ns.
//
// Other duties, each with a time of its own: memory that the pools have not needed for a while
// (trim.h), deadlocks (deadlock_watch.h), observers (observe.h), CPUs that come and go.
//
// Reports. The monitor writes them between two looks. None may hold it up: it makes no write that may
// block, and waits 10 ms for a slow reader (crash.h). A dump of many Gs takes longer; so wherever it
// holds no lock the writer calls look_meanwhile(), which is one turn of the loop without the sleep. That
// is safe because a look keeps its state in members, and the dump on the stack; and calls that come
// meanwhile are not forgotten, because only a sleeper does C3.
//
// Rejected. A fixed period: it wakes idle processes, in Go 100 times a second in busy ones, and still
// sees a blocked call late. A timer signal: EINTR in user code. Ms that look while they run: user code
// runs then. A call at every push while no P is idle: 6 us on the hot path; so the monitor stays near
// as long as anything is queued.
//
// Invariants: I1. While work is queued, no P is idle and no M spins: the monitor is near or about to
//                 be, or the M that pushed is on g0 or in the runtime.
//             I2. idle_state::monitor changes under the idle lock.
// Locks:      looking_, then the idle lock.
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
    static constexpr int64_t spare_ns = 50'000;  // a thread that was made will be there then
    static constexpr int64_t late_ns = 5'000'000;
    static constexpr int64_t no_fence_ns = 10'000'000;  // the longest sleep where there is no heavy fence
    static constexpr int64_t cpus_ns = 1'000'000'000;   // from one look at affinity and quota to the next
    static constexpr int64_t trim_part_ns = 500'000;    // that it trims without a pause
    static constexpr int64_t trim_pause_ns = 500'000;
    static constexpr int64_t no_thread_ns = 10'000'000;  // before it asks for a thread again
    static constexpr int64_t parting_ns = 10'000'000;    // for a report that goes on when it is to end

    monitor() = default;
    monitor(const monitor&) = delete;
    monitor& operator=(const monitor&) = delete;

    // Makes its thread. Returns 0 or an errno value. Called once, by the thread that makes s.
    [[nodiscard]] int start(scheduler& s) noexcept;

    // Ends and joins it, if it was started. It makes no M after that. False: it has not ended by
    // deadline_ns, because nothing reads the reports that it writes, or by way_back_ns after that for
    // another reason. It will end by itself, and needs all that it knows until then.
    bool stop(int64_t deadline_ns = never) noexcept;

    // Whether stop() has left it, and it still exists.
    [[nodiscard]] bool is_left() const noexcept { return thread_state_.load(acquire) == left; }  // pairs with run

    // Whether it writes a dump, for which it may wait as long as the reader takes. Other reports are
    // short and wait for 10 ms at most.
    [[nodiscard]] bool reports() const noexcept { return reports_.load(relaxed); }  // relaxed: a look

    void set_reports(bool reports) noexcept { reports_.store(reports, relaxed); }  // relaxed: as above

    // To be called after taking it out of far.
    void wake() noexcept { called_.wake(); }

    // Makes it look now, or as soon as it can.
    void look_soon() noexcept;

    // idle.monitor.watches_deadlock has been set while it was far.
    void watch_deadlock() noexcept { wake(); }

    // Makes it give memory back that the pools do not need, until that is over: trim.h. Requires:
    // the idle lock is not held.
    void watch_memory() noexcept;

    // Returns when every look that had begun before is over. After that the monitor does not look at an
    // M that holds no P. Not called by the monitor while it looks.
    void await_look() noexcept;

    // By its own thread within a long task, holding no lock: looks, if it is time. False: it is to end,
    // and was told so parting_ns ago.
    [[nodiscard]] bool look_meanwhile() noexcept;

    // Whether its thread, which start() has made, has run.
    [[nodiscard]] bool has_begun() const noexcept { return tid() != 0; }

    // Of its thread; 0 if that has not begun.
    [[nodiscard]] int tid() const noexcept { return tid_.load(acquire); }  // pairs with run

    [[nodiscard]] uint64_t requests() const noexcept { return ps_.requests.load(relaxed); }  // relaxed: statistics

    // What it has done, for stats.
    struct {
        atomic<uint64_t> looks{0}, retakes_blocked{0}, retakes_burning{0}, retakes_in_call{0}, late{0};
    } count;

    // Which CPUs the holders of Ps are on.
    placement spread;

private:
    struct far_sleep;

    static void* run(void* self) noexcept;
    void loop() noexcept;
    bool go_far() noexcept;
    [[nodiscard]] bool plan_far_sleep(far_sleep& plan, int64_t now_ns) noexcept;
    bool stay_near() noexcept;
    void begin_watch_if_asked_locked(int64_t now_ns) noexcept;
    void watch_for_deadlock(int64_t now_ns) noexcept;
    [[nodiscard]] bool is_to_end() noexcept;
    void look_on_time(int64_t now_ns) noexcept;
    void look(int64_t now_ns) noexcept;
    void poll_for_others(int64_t now_ns) noexcept;
    void ask_for_m_again(int64_t now_ns) noexcept;
    void retake(const p_watch::candidate* all, uint32_t count) noexcept;
    bool take_one_locked(const p_watch::candidate& c, bool fenced) noexcept;
    bool ensure_idle_ms(uint32_t count) noexcept;
    void follow_cpus(int64_t now_ns) noexcept;
    void trim(int64_t now_ns) noexcept;

    scheduler* home_ = nullptr;

    // The monitor's own.
    monitor_pace pace_;
    p_watch ps_{pace_};
    deadlock_watch deadlock_;
    int64_t planned_ns_ = never;  // when this look was to be
    int64_t end_by_ns_ = never;   // once it has seen, in a report, that it is to end
    int64_t trim_at_ns_ = never;  // when it goes on with giving memory back; never: it was not asked for
    int64_t no_threads_until_ns_ = 0;
    int64_t cpus_seen_ns_ = 0;
    bool takes_all_ = false;  // with RUN_DEBUG=retake=always each second look takes what it can

    bool ending_ = false;  // guarded by the idle lock
    bool started_ = false;
    os::thread_id thread_ = 0;

    // Whether the thread has ended, or stop() has left it; then it cleans up after itself.
    static constexpr uint32_t alive = 0;
    static constexpr uint32_t left = 1;
    static constexpr uint32_t ended = 2;
    atomic<uint32_t> thread_state_{alive};
    atomic<bool> reports_{false};
    atomic<bool> watches_memory_{false};  // it has been called for that, and has not seen it yet
    atomic<int> tid_{0};
    note called_;
    spin_lock looking_;  // held while it looks at Ms
};

// Calls the monitor of s if it is far and work has begun to wait for a P (N3). Called by the thread that
// turns an idle P or a spinning M into a running G, and, through after_push(), by one that pushes.
// Requires: the idle lock is not held.
void call_monitor(scheduler& s) noexcept;

}  // namespace weft::detail
