// scheduler.h: one runtime: its Ps, Ms, Gs, queues and pools.
//
// Lock order, outermost first: an object's lock (channel, mutex …), the idle lock, then leaves:
// timer_queue.lock, threads_lock, the locks of global queue, stack pool and G pool. No G is made
// ready while an object's lock is held.
//
// See: ARCHITECTURE.md
#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <string>

#include <weft/runtime.h>

#include "base/atomic.h"
#include "base/generation.h"
#include "base/ranked_lock.h"
#include "handoff/call_permits.h"
#include "idle/idle.h"
#include "lifecycle/debug_options.h"
#include "lifecycle/thread_maker.h"
#include "monitor/observe.h"
#include "monitor/sysmon.h"
#include "netpoll/netpoll.h"
#include "per_g/stack_profile.h"
#include "sched/g_pool.h"
#include "sched/m.h"
#include "sched/p.h"
#include "sched/procs.h"
#include "sched/recording.h"
#include "sched/shared_queue.h"
#include "sched/simulation.h"
#include "sched/trim.h"
#include "stack/stack.h"

namespace weft::detail {

// State of weft::main's thread when main has returned on another.
namespace main_thread {
inline constexpr uint32_t away = 0;      // runs a G that does not return
inline constexpr uint32_t back = 1;      // has left its loop, and leaves weft::main
inline constexpr uint32_t too_late = 2;  // the other thread ends the process
}  // namespace main_thread

struct scheduler {
    scheduler(const runtime_options& o, uint32_t p_count, const stack_pool::options& stack_options);
    ~scheduler();
    scheduler(const scheduler&) = delete;
    scheduler& operator=(const scheduler&) = delete;

    // Immutable after start.
    const std::string name;
    const uint32_t made_in;  // fork_generation of its process
    uint32_t threads_max = 0;
    int64_t slice_ns = 0;
    int64_t thread_idle_ns = 5'000'000'000;  // a surplus M ends after it
    int64_t memory_idle_ns = never;          // trim.h
    int64_t timer_slack_ns = 0;
    atomic<uint32_t> cpus{1};          // written by the monitor
    atomic<bool> follows_cpus{false};  // see procs_by
    bool retakes = true;
    bool moves_threads = true;        // placement.h
    bool retakes_always = false;      // even if no G waits
    uintptr_t owner_flags = 0;        // in every owner word: attention::fence without a heavy fence
    int interrupt_signal = 0;         // preempts marked code; 0: off
    simulation* simulated = nullptr;  // simulation.h; changed only by a G of its only M
    atomic<uint16_t> g_flags{0};      // special bits of every G: no_fence without a heavy fence

    processors ps;

    stack_pool stacks;
    g_pool gs;
    trim_round trims;  // monitor only
    shared_queue global;
    shared_queue injected;  // injected.h
    shared_queue high;      // Gs of these classes, made ready externally
    shared_queue low;
    atomic<uint32_t> raised{0};  // raised Gs that may be in a ring: move_raised

    // A hint.
    [[nodiscard]] bool has_shared_work() const noexcept {
        return global.size() != 0 || injected.size() != 0 || high.size() != 0 || low.size() != 0;
    }

    idle_state idle;
    netpoll io;
    thread_maker maker;
    weft::detail::monitor sysmon;
    stack_profile places;
    observer watch;
    const std::shared_ptr<recording> record = std::make_shared<recording>(this);
    deadlock_search deadlocks = deadlock_search::off;  // immutable, as the next, once its first G runs
    bool is_mains = false;                             // of weft::main or run_scheduler_init

    atomic<bool> stopping{false};         // no G may be scheduled
    atomic<bool> cancelling{false};       // all waits must end: stopping.h
    atomic<uint64_t> next_id{1};          // handed to Ps in batches
    atomic<uint64_t> external_spawns{0};  // these three: by plain threads and Gs without a P
    atomic<uint64_t> external_ends{0};
    atomic<uint64_t> external_parks{0};
    atomic<uint64_t> wakes{0};
    atomic<uint64_t> hand_offs{0};
    atomic<uint64_t> no_thread{0};  // times that no M could be created

    // Threads other than its Ms that use it; it is not destroyed before they are done.
    atomic<uint32_t> external_refs{0};

    void pin() noexcept { external_refs.fetch_add(1, relaxed); }  // relaxed: something else keeps it alive until then

    void unpin() noexcept { external_refs.fetch_sub(1, release); }  // pairs with stop_scheduler

    // For weft::main only.
    atomic<M*> main_ended_by{nullptr};  // the M on which the main G returned
    const int* main_code = nullptr;
    const std::exception_ptr* main_error = nullptr;
    atomic<uint32_t> main_thread_back{main_thread::away};  // a futex word

    // When threads are scarce, blocking calls need permits: call_permits.h.
    atomic<bool> threads_scarce{false};  // written under threads_lock
    std::unique_ptr<weft::detail::call_permits> call_permits;

    ranked_lock<lock_rank::leaf> threads_lock;
    // Guarded by threads_lock.
    M* all_ms WEFT_GUARDED_BY(threads_lock) = nullptr;
    uint32_t ms_made WEFT_GUARDED_BY(threads_lock) = 0;
    atomic<uint32_t> thread_count{0};  // Ms; a hint without the lock
    atomic<uint32_t> retired{0};       // can be joined soon
    atomic<uint32_t> ended{0};         // a futex word for stop()

    atomic<scheduler*> next_registered{nullptr};  // under the registry's lock: crash.h
};

// Whether a parent process has made s: generation.h.
[[nodiscard]] inline bool is_from_before_fork(const scheduler& s) noexcept {
    return s.made_in != fork_generation.load(relaxed_alone);
}

// Where plain threads start Gs: weft::main's scheduler, or one created on first use. The caller
// unpins it. Throws as runtime's constructor.
[[nodiscard]] scheduler& pin_default_scheduler();

// As above, or nullptr if it does not exist yet.
[[nodiscard]] scheduler* pin_default_scheduler_if_any() noexcept;

}  // namespace weft::detail
