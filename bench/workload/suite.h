// suite.h: every workload by name, over one runtime.
//
// A C++ peer is a struct that maps these operations to its library. The work is written once, in
// this folder, so that all peers do the same:
//
//     peer(), version()                       its name and version
//     run(p, body)                            runs body as a task on p scheduler threads; returns after it
//     go(f), yield()                          start a detached task; yield
//     go_child(f)                             the same, for a task whose parent is about to wait for it
//     spawn_and_join(f)                       start a task and wait for its end
//     wait_group                              add(n), done(), wait()
//     mutex                                   lock(), unlock()
//     make_unbuffered<T>(), make_buffered<T>(capacity)
//                                             handles that share a channel: send(v), recv(v&),
//                                             close(); recv returns false when closed and drained
//     unbuffered<T>, buffered<T>              their types
//
// and, for the tables of workloads after `basics` in its list:
//
//     sleep_for(ns)                           waking, sleeping, hogs, crowds
//     blocking(f)                             calls: f() blocks its OS thread, declared to the runtime
//     counts_os_wakes, os_wakes()             waking: wake-ups of sleeping threads, if the library counts them
//     condition_variable                      conditions: wait(std::unique_lock<mutex>&), notify_one()
//     shared_mutex                            shared_locks: as std's
//     semaphore(permits)                      semaphores: acquire(), release()
//     fork_two(f, g), fork_each(n, f)         forks: see fork_join.h
//     after(ns, f)                            timers: a timer that calls f; stop() and reset(ns) return whether it was pending
//     timer                                   its type
//     select(cases…), select_set              selects: one of several channels; on_recv(channel, f), on_send(channel, v, f),
//                                             otherwise(f) make cases
//
// A library without one of these omits the table.
//
// A task must not outlive the objects it refers to: every workload joins its tasks, except skynet,
// whose tasks own what they touch.
#pragma once

#include <cstdio>
#include <exception>
#include <initializer_list>
#include <span>

#include "bursts.h"
#include "calls.h"
#include "cforall.h"
#include "channel.h"
#include "classic.h"
#include "fork_join.h"
#include "hogs.h"
#include "idle.h"
#include "lifetimes.h"
#include "locks.h"
#include "mutex.h"
#include "savina.h"
#include "select.h"
#include "sleeping.h"
#include "spawn.h"
#include "timers.h"
#include "waiters.h"
#include "wake.h"
#include "yield.h"

namespace bench {

struct workload {
    const char* name;
    measurement (*run)(const run_arguments&);
};

template <typename Runtime>
constexpr workload basics[] = {
    {"yield", run_yield<Runtime>},
    {"spawn_join", run_spawn_join<Runtime>},
    {"spawn_batch", run_spawn_batch<Runtime>},
    {"spawn_block", run_spawn_block<Runtime>},
    {"pingpong", run_pingpong<Runtime>},
    {"mpmc", run_mpmc<Runtime>},
    {"sieve", run_sieve<Runtime>},
    {"ring", run_ring<Runtime>},
    {"skynet", run_skynet<Runtime>},
    {"mutex", run_mutex<Runtime>},
    {"mutex_fair", run_mutex_fair<Runtime>},
    {"chan_waiters", run_chan_waiters<Runtime>},
    {"transfer", run_transfer<Runtime>},
    {"savina_count", run_savina_count<Runtime>},
    {"savina_fjcreate", run_savina_fjcreate<Runtime>},
    {"savina_big", run_savina_big<Runtime>},
    {"savina_bndbuffer", run_savina_bndbuffer<Runtime>},
    {"savina_banking", run_savina_banking<Runtime>},
};

template <typename Runtime>
constexpr workload waking[] = {
    {"wake_same", run_wake_same<Runtime>},
    {"wake_busy", run_wake_busy<Runtime>},
    {"wake_idle", run_wake_idle<Runtime>},
    {"fan_out", run_fan_out<Runtime>},
};

template <typename Runtime>
constexpr workload sleeping[] = {
    {"sleep_precision", run_sleep_precision<Runtime>},
    {"sleep_staggered", run_sleep_staggered<Runtime>},
};

template <typename Runtime>
constexpr workload calls[] = {
    {"call_guard", run_call_guard<Runtime>},
    {"call_wait", run_call_wait<Runtime>},
    {"call_count", run_call_count<Runtime>},
    {"call_crowd", run_call_crowd<Runtime>},
};

template <typename Runtime>
constexpr workload hogs[] = {
    {"hog_sleeper", run_hog_sleeper<Runtime>},
    {"hog_tail", run_hog_tail<Runtime>},
};

template <typename Runtime>
constexpr workload crowds[] = {
    {"lifetimes", run_lifetimes<Runtime>},
    {"idle", run_idle<Runtime>},
    {"after_burst", run_after_burst<Runtime>},
    {"oscillate", run_oscillate<Runtime>},
};

template <typename Runtime>
constexpr workload conditions[] = {
    {"cond_pingpong", run_cond_pingpong<Runtime>},
};

template <typename Runtime>
constexpr workload shared_locks[] = {
    {"rwlock", run_rwlock<Runtime>},
};

template <typename Runtime>
constexpr workload semaphores[] = {
    {"cycle", run_cycle<Runtime>},
    {"churn", run_meetings<Runtime>},
    {"locality", run_meetings<Runtime>},
};

template <typename Runtime>
constexpr workload forks[] = {
    {"fib", run_fib<Runtime>},
    {"nqueens", run_nqueens<Runtime>},
    {"uts", run_uts<Runtime>},
    {"matmul", run_matmul<Runtime>},
};

template <typename Runtime>
constexpr workload timers[] = {
    {"timer_add_stop", run_timer_add_stop<Runtime>},
    {"timer_reset", run_timer_reset<Runtime>},
    {"timer_fire", run_timer_fire<Runtime>},
};

template <typename Runtime>
constexpr workload selects[] = {
    {"select_ready", run_select_ready<Runtime>},     {"select_block", run_select_block<Runtime>},
    {"select_default", run_select_default<Runtime>}, {"select_meet", run_select_meet<Runtime>},
    {"select_width", run_select_width<Runtime>},     {"withdraw", run_withdraw<Runtime>},
};

// The main function of a peer with these tables.
template <typename Runtime>
int suite_main(int argc, char** argv, std::initializer_list<std::span<const workload>> tables) {
    const run_arguments arguments = parse_arguments(argc, argv);
    for (const std::span<const workload> table : tables) {
        for (const workload& entry : table) {
            if (arguments.workload != entry.name) continue;
            Runtime::run(arguments.p, [&] {
                for (int i = 0; i < arguments.reps; ++i) {
                    entry.run(arguments).print(Runtime::peer(), Runtime::version(), arguments);
                }
            });
            return 0;
        }
    }
    std::fprintf(stderr, "bench: no workload '%s'; there are:", arguments.workload.c_str());
    for (const std::span<const workload> table : tables) {
        for (const workload& entry : table) std::fprintf(stderr, " %s", entry.name);
    }
    std::fputc('\n', stderr);
    return 2;
}

}  // namespace bench
