// sysmon.h: the monitor: a thread without a P that sees to it that nobody holds up the others.
//
// The problem. An M that runs a G does not look around: the G may compute for a second, or block in a system call. If all Ps are held by
// such Ms, what is queued waits. Somebody has to look from outside, and take a P away (retake.h); and that somebody must not cost
// anything while all is well, or wake an idle process.
//
// So the monitor is near, or far. Near, it looks every look_ns at what the Ps do. When nothing is queued for some looks, it goes far: it
// sleeps until the next deadline of a timer, or until it is called.
//
// Calm. Work may be queued all the time, although every G gives way in time; and a wake-up costs 20 µs of CPU, whatever is done in it. So
// after calm_looks looks in a row that saw nothing amiss the time to the next one doubles, up to calm_look_ns. Amiss is: a P that has
// been, or could be, taken away; a declared call that began; an M that did not run for a while although it held a P and wanted
// no CPU, as its CPU clock and the system's own count say: so calls that block and return between two looks are noticed, too. After
// a P was taken from one that blocked, for retaken_looks looks.
//
// A look. Nobody waits for a P if nothing is queued and no timer is due, or if a P is idle or an M looks for work: those are the business of
// the idle protocol. Then nothing is done. Otherwise each P whose M is outside of the runtime, and has not scheduled anything since
// the last look, has an allowance; that of a call counts from when the call was first seen, a slice from when the schedule was, whatever
// calls were made since:
//
//   in a declared blocking call              call_allowance_ns
//   blocked: it has burned no CPU time       blocked_allowance_ns; and the system says that it does not want to run
//   burning                                  a slice; then it is asked to yield, and when it has run for after_request_ns its P is
//                                            taken: or after preempt_grace_ns, if it does not get to run
//
// Gs that come from run_next share a slice (schedule.h). When that is over, and others are queued, the G that runs is asked to yield, though it
// may have begun only then; its P is taken when it has run for a slice by itself.
//
// If the monitor itself comes late by more than late_ns, the machine was busy elsewhere or stopped, and nothing can be said about what the
// Ms did meanwhile: that time counts for nobody. What had been seen before still does: a process that is stopped again and again, as with a
// small CPU quota, would else never see the end of a slice.
//
// Being called. Work begins to wait for a P when it is pushed while no P is idle and no M spins, or when the last idle P or spinner
// has begun to run a G and more is queued. So these look at idle.wanted, whose second bit says that the monitor is far:
//
//      the monitor                                     a push by a G
//      F1  far = true, wanted published, under the     N1  publishes the G, or the timer
//          lock of the idle protocol                   N2  compiler fence
//      F2  heavy fence                                 N3  reads wanted: not 0: under the lock, looks whether anybody
//      F3  looks at all queues and deadlines               waits for a P now; if so far = false, and wakes the monitor
//      F4  sleeps until the earliest deadline
//
// It is step 5 of idle.h with the monitor as the one who goes to sleep; who waits for the timer that it sets leaves out N3 (Leaving, in
// idle.h). A push from g0 leaves N3 to execute(), which comes next: what was pushed may be just what is run then. Pushes from outside fence
// fully, and look at wanted, too.
//
// An idle P that lacks an M (W5 of idle.h) is as good as none: everything above holds as if it were busy, and while anything is queued the
// monitor asks for a thread every no_thread_ns.
//
// A call may come at any moment, also while it looks: after it has looked at what the call is about, but before it sleeps. Such a call must
// not be lost, because the caller may have said all he has to say (set_max_procs does so once):
//
//      the monitor                                     who calls
//      C1  sleeps: returns at once if it was told      T1  changes something, under the lock of the idle protocol
//      C2  wakes, told                                 T2  tells it
//      C3  forgets that, under the lock
//      C4  looks
//
// If T1 comes before C3 the look sees what was changed; else T2 comes after C3, and the next sleep is none. A reset before the
// sleep, as is usual with notes, would lose what came since C4.
//
// Files. While no P is idle nobody may be looking for events of files (netpoll.h). So with a poller in use it does not go far then, but looks
// each netpoll::stale_ns, and goes on for io_looks looks that saw an idle P: being called costs more than those. Where single requests
// come from the poller to the only P, one of them may be over when a look comes: so it does the same when it was called for that alone, soon
// after it went far. Then, as when it is calm, it may see work that begins to wait only after so long.
//
// Deadlocks. While it is near, or has an alarm of its own for that, nobody else sets one to look for a deadlock (idle.h).
//
// Memory. It gives back what the pools have not needed for a while (trim.h). For that it is called when something is given to a pool that nobody watches,
// and has a time at which it goes on; a look that comes later does a part of the work. While nothing is to be given back that time is never.
//
// Reports. The monitor writes them, too (observe.h), between two looks. None may hold it up: it never makes a write that may block, and has
// patience with who reads for 10 ms (crash.h). A dump of many Gs takes longer, in which somebody may keep the only P; so it looks meanwhile:
// whatever holds no lock and is between two Gs calls look_meanwhile(), which is one turn of its loop without the sleep. To look is safe
// there because what a look knows is in its members, and what the dump knows is on the stack; calls that come then are not forgotten, as only
// who has slept does C3.
//
// Rejected. A fixed period (wakes idle processes, 100 times a second in Go's busy ones, and still sees a blocked call late). A timer signal
// (EINTR in user code). Having Ms look while they run (they do not run our code). Being called at every push while nobody is idle
// (6 µs on the hot path; so the monitor stays near as long as anything is queued).
//
// Invariants: I1. While work is queued, no P is idle and no M spins, the monitor is near or on its way, or the work was pushed by an M that
//                 is on g0 or in the runtime.
//             I2. idle.monitor_far, idle.monitor_polls, idle.monitor_until_ns and idle.deadlock_watched change under idle.lock.
// Locks:      looking, then idle.lock.
// See:        docs/sysmon.md, docs/retake.md
#pragma once

#include <cstdint>
#include <cstdlib>
#include <memory>

#include <weft/detail/spin_lock.h>
#include <weft/detail/wait.h>

#include "base/atomic.h"
#include "idle/placement.h"
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
    static constexpr int64_t look_ns = 1'000'000;    // from one look to the next, at most, while anything is queued
    static constexpr int64_t hot_look_ns = 100'000;  // the same, for a while after a P was taken away
    static constexpr int64_t preempt_grace_ns = 1'000'000;  // after asking, for an M that does not get a CPU
    static constexpr int64_t after_request_ns = 100'000;    // from asking to yield to taking the P away
    static constexpr int64_t blocked_allowance_ns = 200'000;
    static constexpr int64_t call_allowance_ns = 100'000;
    static constexpr int64_t spare_ns = 50'000;  // a thread that was made will be there then
    static constexpr int64_t late_ns = 5'000'000;
    static constexpr int64_t no_fence_ns = 10'000'000;  // the longest sleep where there is no heavy fence
    static constexpr int64_t cpus_ns = 1'000'000'000;   // from one look at affinity and quota to the next
    static constexpr int64_t trim_part_ns = 500'000;    // that it trims without a pause
    static constexpr int64_t trim_pause_ns = 500'000;
    static constexpr int64_t no_thread_ns = 10'000'000;  // before it asks for a thread again
    static constexpr int64_t soon_ns = 10'000'000;
    static constexpr int64_t parting_ns = 10'000'000;  // for a report that goes on when it is to end
    static constexpr int patient_looks = 12;
    static constexpr int quiet_looks = 4;  // then it goes far
    static constexpr int hot_looks = 100;
    static constexpr int io_looks = 10;
    static constexpr int calm_looks = 50;        // that saw nothing amiss, until it looks less often
    static constexpr int retaken_looks = 1'000;  // the same, after a P was taken from one that blocked
    static constexpr int calm_doublings = 4;
    static constexpr int64_t calm_look_ns = 12'000'000;  // from one look to the next, at most, then

    monitor() = default;
    monitor(const monitor&) = delete;
    monitor& operator=(const monitor&) = delete;

    // Makes its thread. Returns 0 or an errno value. Once, by who makes s.
    [[nodiscard]] int start(scheduler& s) noexcept;

    // Ends and joins it, if it was started. It makes no M any more. False: deadline_ns has passed, and it has not ended, because whoever reads
    // the reports that it writes does not, or for way_back_ns more without that. It will by itself, and needs all that it knows until then.
    bool stop(int64_t deadline_ns = never) noexcept;

    // Whether it has been left so, and still is there.
    [[nodiscard]] bool is_left() const noexcept { return thread_state_.load(acquire) == left; }  // pairs with run

    // Whether it writes a dump, for which it may wait for as long as the reader takes. Other reports of the monitor are short and wait for 10 ms at most.
    [[nodiscard]] bool reports() const noexcept { return reports_.load(relaxed); }  // relaxed: a look

    void set_reports(bool reports) noexcept { reports_.store(reports, relaxed); }  // relaxed: as above

    // To be called after taking it out of far.
    void wake() noexcept { called_.wake(); }

    // Makes it look now, or as soon as it can.
    void look_soon() noexcept;

    // Makes it give memory back that nobody needs, until that is over: trim.h. Not with idle.lock held.
    void watch_memory() noexcept;

    // Returns when no look that had begun before goes on: an M that holds no P any more is not looked at after that. Not by the monitor while it looks.
    void await_look() noexcept;

    // By its own thread, where that is busy with something that takes long, holding no lock: looks, if it is time. False: it is to end,
    // and has been told so parting_ns ago.
    [[nodiscard]] bool look_meanwhile() noexcept;

    // Whether its thread, which start() has made, has run.
    [[nodiscard]] bool has_begun() const noexcept { return tid() != 0; }

    // Of its thread; 0 if that has not begun.
    [[nodiscard]] int tid() const noexcept { return tid_.load(acquire); }  // pairs with run

    // What it has done, for stats.
    struct {
        atomic<uint64_t> looks{0}, retakes_blocked{0}, retakes_burning{0}, retakes_in_call{0}, requests{0}, late{0};
    } count;

    // Which CPUs the holders of Ps are on.
    placement spread;

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

    enum class why : uint8_t { none, blocked, burning, in_call, surplus };

    struct candidate {
        uint32_t p;
        M* m;
        why reason;
    };

    static constexpr uint32_t candidates_max = 16;

    static void* run(void* self) noexcept;
    void loop() noexcept;
    bool go_far() noexcept;
    bool stay_near() noexcept;
    [[nodiscard]] M* watch_for_deadlock_locked(int64_t now_ns) noexcept;
    [[nodiscard]] bool is_to_end() noexcept;
    void look_on_time(int64_t now_ns) noexcept;
    void look(int64_t now_ns) noexcept;
    uint32_t look_at_ps(candidate* all, bool some_wait, int64_t now_ns) noexcept;
    bool observe(observation& seen, const P& p, const M* m, int64_t now_ns) noexcept;
    why judge(observation& seen, bool as_before, P& p, const M* m, int64_t now_ns) noexcept;
    why judge_late(observation& seen, P& p, const M* m, int64_t now_ns) noexcept;
    void ask_to_yield(observation& seen, P& p, const M* m, int64_t now_ns) noexcept;
    void end_chain(observation& seen, P& p, const M* m, int64_t now_ns) noexcept;
    bool preempt_grace_over(const observation& seen, const M* m, int64_t now_ns) noexcept;
    bool is_blocked(observation& seen, const M* m, int64_t now_ns) noexcept;
    bool has_blocked(observation& seen, const M* m, int64_t now_ns) noexcept;
    void take_note() noexcept;
    void look_after_io(int64_t now_ns) noexcept;
    [[nodiscard]] int64_t period_ns() const noexcept;
    void forget() noexcept;
    void disregard(int64_t missed_ns, int64_t now_ns) noexcept;
    void ask_for_m_again(int64_t now_ns) noexcept;
    void retake(const candidate* all, uint32_t count) noexcept;
    bool ensure_idle_ms(uint32_t count) noexcept;
    void look_again_in(int64_t ns) noexcept;
    void follow_cpus(int64_t now_ns) noexcept;
    void trim(int64_t now_ns) noexcept;

    scheduler* home_ = nullptr;

    // The monitor's own.
    std::unique_ptr<observation[], void (*)(void*)> seen_{nullptr, &std::free};  // one per P there may be
    int64_t look_in_ns_ = look_ns;                                               // from the present look to the next
    int64_t planned_ns_ = never;                                                 // when this look was to be
    int64_t end_by_ns_ = never;   // once it has seen, in a report, that it is to end
    int64_t trim_at_ns_ = never;  // when it goes on with giving memory back; never: nobody has called for that
    int64_t no_threads_until_ns_ = 0;
    int64_t cpus_seen_ns_ = 0;
    uint64_t watched_ticks_ = 0;  // total_ticks() when it last looked whether anything moves …
    int64_t watched_ns_ = 0;      // … and when that was
    bool rests_ = false;          // it was far, and nobody has called
    int io_looks_ = 0;            // to come, for the poller's sake
    int quiet_ = 0;               // looks in a row that saw nothing queued
    int hot_ = 0;                 // looks to come that are hot
    int calm_ = 0;                // looks in a row that saw nothing amiss, less those that do not count; see calm_looks
    bool amiss_ = false;          // what the present look sees
    bool storm_ = false;  // this look takes whatever it can get: with RUN_DEBUG=retake=always each second one does

    bool ending_ = false;  // guarded by idle.lock
    bool started_ = false;
    os::thread_id thread_ = 0;

    // Whether the thread has ended, or stop() has left it, which then sees to itself.
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

// Calls the monitor of s if it is far and work has begun to wait for a P: N3. Whoever turns an idle P or a spinner into a running G, and,
// by way of after_push(), who pushes. Not with idle.lock held.
void call_monitor(scheduler& s) noexcept;

}  // namespace weft::detail
