// run.h: the C interface of weft: green threads, channels and related objects, for C99 and C++.
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
// Rules for all functions:
// - Handles are opaque.
// - A function that can fail returns a run_status_t. No exception leaves a function.
// - Any thread may call a function, unless its comment says otherwise.
// - NULL where an object is needed returns RUN_INVALID.
// - Misuse that would cause damage (unlocking an unlocked mutex) ends the process with a report.
// - Option structs begin with their size, so programs and libraries of different versions are
//   compatible.
// - Each function has the semantics and the cost of its C++ counterpart.
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
