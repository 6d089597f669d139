// scheduler.h: everything that belongs to one runtime: its Ps, Ms, Gs, queues and pools.
//
// No globals: several runtimes live side by side. The files of this folder are the functions that work on it:
//
//   spawn.cc     starting and ending Gs             switch.{h,cc}  from one G to the next
//   park.{h,cc}  waiting and making ready           schedule.cc    what to run next, and the loop of g0
//   idle.{h,cc}  sleeping and waking Ms             start.cc       starting and stopping it all
//   procs.{h,cc} how many Ps there are              classes.{h,cc} Gs of other classes than normal
//   sysmon.{h,cc} looking after those who hold Ps   retake.{h,cc}  taking Ps away, and being without one
//   arrivals.{h,cc} Gs that come back               placement.{h,cc} which CPUs the holders of Ps are on
//
// Lock order, outermost first: an object's lock (channel, mutex …), idle.lock; timer_queue.lock, threads_lock, and the locks of global
// queue, stack pool and G pool are leaves. No G is made ready while an object's lock is held.
#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <string>

#include <weft/runtime.h>

#include "base/atomic.h"
#include "sched/call_places.h"
#include "sched/debug_options.h"
#include "sched/g_pool.h"
#include "sched/idle.h"
#include "sched/m.h"
#include "sched/netpoll.h"
#include "sched/observe.h"
#include "sched/p.h"
#include "sched/procs.h"
#include "sched/shared_queue.h"
#include "sched/stack_places.h"
#include "sched/sysmon.h"
#include "sched/thread_maker.h"
#include "sched/trim.h"
#include "stack/stack.h"

namespace weft::detail {

// Where weft::main's thread is when main has returned on another one.
namespace main_thread {
inline constexpr uint32_t away = 0;      // with a G that does not come back
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
    const uint32_t made_in;  // fork_generation: by which process
    uint32_t threads_max = 0;
    int64_t slice_ns = 0;                    // how long a G may run while others wait
    int64_t thread_idle_ns = 5'000'000'000;  // after which an M that is one too many ends
    int64_t memory_idle_ns = never;          // after which memory that was not needed goes back; never: not at all
    atomic<uint32_t> cpus{1};                // that the process may use; by the monitor
    atomic<bool> follows_cpus{false};  // there are as many Ps as processors that the process may use; see procs_by
    bool retakes = true;               // Ps are taken away from Ms that hold them up
    bool moves_threads = true;         // who holds a P may be moved to another CPU: see placement.h
    bool retakes_always = false;       // … from any M in a G's code, whether somebody waits for a P or not
    uintptr_t owner_flags = 0;         // in every owner word: attention::fence where the system has no heavy fence
    int interrupt_signal = 0;          // what preempts marked code; 0: nothing does
    uint16_t g_flags = 0;              // special bits of every G: no_fence where the system has no heavy fence

    processors ps;  // see procs.h

    stack_pool stacks;
    g_pool gs;
    trim_round trims;  // of the monitor
    shared_queue global;
    shared_queue arrivals;  // those that come back without a P, or were woken without one: see arrivals.h
    shared_queue high;      // Gs of these classes that were made ready from outside
    shared_queue low;
    atomic<uint32_t> raised{0};  // counts Gs that may be in a ring and were raised: see move_raised

    // Whether any G waits that is on no P. A look.
    [[nodiscard]] bool has_shared_work() const noexcept {
        return global.size() != 0 || arrivals.size() != 0 || high.size() != 0 || low.size() != 0;
    }

    idle_state idle;
    netpoll io;
    thread_maker maker;
    weft::detail::monitor sysmon;
    stack_places places;
    observer watch;
    deadlock_search deadlocks = deadlock_search::off;  // immutable, as the next, once its first G runs
    bool is_mains = false;                             // that of weft::main, or of run_scheduler_init

    atomic<bool> stopping{false};        // no G is to be scheduled any more
    atomic<bool> cancelling{false};      // all waits are to end; see stopping.h
    atomic<uint64_t> next_id{1};         // ids of Gs, handed to Ps in batches
    atomic<uint64_t> foreign_spawns{0};  // Gs started by plain threads, and by Gs that have lost their P
    atomic<uint64_t> foreign_ends{0};    // Gs that ended without a P
    atomic<uint64_t> foreign_parks{0};
    atomic<uint64_t> wakes{0};
    atomic<uint64_t> hand_offs{0};
    atomic<uint64_t> no_thread{0};  // times an M was needed and could not be made

    // Threads that are no Ms of this scheduler and work on it right now. It is not destroyed before they are done.
    atomic<uint32_t> outsiders{0};

    void pin() noexcept { outsiders.fetch_add(1, relaxed); }  // relaxed: something else keeps it alive until then

    void unpin() noexcept { outsiders.fetch_sub(1, release); }  // pairs with stop_scheduler

    // For weft::main only.
    atomic<M*> main_ended_by{nullptr};  // the M on which the main G returned; written by it
    const int* main_code = nullptr;
    const std::exception_ptr* main_error = nullptr;
    atomic<uint32_t> main_thread_back{main_thread::away};  // a futex word

    // Where threads are scarce, declared blocking calls need places, of which there are as many as Ms that may be without a P: see blocking.h.
    atomic<bool> threads_scarce{false};  // written under threads_lock
    std::unique_ptr<weft::detail::call_places> call_places;

    spin_lock threads_lock;
    // Guarded by threads_lock.
    M* all_ms = nullptr;
    uint32_t ms_made = 0;
    atomic<uint32_t> thread_count{0};  // Ms; read without the lock as a hint
    atomic<uint32_t> retired{0};       // of them have left their loop before the end, and can be joined soon
    atomic<uint32_t> ended{0};         // counts up when one ends; a futex word for stop()

    atomic<scheduler*> next_registered{nullptr};  // changed under the registry's lock, see crash.h
};

// The scheduler that plain threads start Gs on: that of weft::main, or one made on first use. Pinned, for the caller to unpin.
// Throws as runtime's constructor.
[[nodiscard]] scheduler& pin_default_scheduler();

// As above, but nullptr where there is none yet.
[[nodiscard]] scheduler* pin_default_scheduler_if_any() noexcept;

}  // namespace weft::detail
