// run.h: weft for C: green threads, channels and all that goes with them, in C99 and C++.
//
//     #include <weft/run.h>
//
//     static void square(void* arg) { … run_chan_send(results, &value); }
//
//     int main(void) {
//         run_scheduler_init();
//         run_chan_t* results;
//         run_chan_make(&results, sizeof(int), 16);
//         for (int i = 0; i < 100; ++i) run_spawn(square, &jobs[i]);
//         …
//     }
//
// Rules for all of it: handles are opaque; what can fail returns a run_status_t; no exception leaves a function; any thread may call
// anything, unless a function says who; NULL where an object is needed is RUN_INVALID; misuse that would leave damage (unlocking an
// unlocked mutex) ends the process with a report; structs of options begin with their size, so that programs and libraries of
// different age understand each other. Each function does what its C++ counterpart does, and so costs.
//
// See: docs/c_api.md
#pragma once

#include <weft/run/barrier.h>
#include <weft/run/base.h>
#include <weft/run/big_stack.h>
#include <weft/run/blocking.h>
#include <weft/run/chan.h>
#include <weft/run/cond.h>
#include <weft/run/context.h>
#include <weft/run/debug.h>
#include <weft/run/event.h>
#include <weft/run/future.h>
#include <weft/run/gmp.h>
#include <weft/run/latch.h>
#include <weft/run/local.h>
#include <weft/run/mutex.h>
#include <weft/run/net.h>
#include <weft/run/once.h>
#include <weft/run/preempt.h>
#include <weft/run/recursive_mutex.h>
#include <weft/run/rwmutex.h>
#include <weft/run/scheduler.h>
#include <weft/run/scope.h>
#include <weft/run/select.h>
#include <weft/run/semaphore.h>
#include <weft/run/spawn.h>
#include <weft/run/time.h>
#include <weft/run/vmem.h>
#include <weft/run/wait_group.h>
