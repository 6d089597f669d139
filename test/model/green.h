// green.h: green threads and plain threads that block, for models: the library's own
// src/wait/wait.cc and src/sched/park.cc over the stand-ins of stand_in/.
//
// A suite derives from program<Suite, Greens, Plains> and defines what each thread does in run().
// Threads 0 … Greens - 1 are green, those after them plain. The last ones, which run() never sees,
// are the rests of Ms whose green threads park. A thread that plays an M firing the timers of a P
// calls fire(). A lost wake-up shows as a deadlock.
//
// A model includes model.h, wait.h, this, and then the two .cc files. A mutant plants a defect
// before one of them.
#pragma once

#include <weft/detail/cancel.h>
#include <weft/detail/wait.h>

#include "base/abandoned.h"
#include "futex.h"
#include "sched/park.h"
#include "sched/switch.h"
#include "wait/thread_note.h"

namespace model {

// The roles of the threads of the current execution.
struct cast {
    M* green[threads_max];  // by thread of the checker
    thread_note* plain[threads_max];
    sleeper* alarm[threads_max];  // the thread that fires this deadline waits here until one is set
    bool later;                   // the clock has jumped; see monotonic_ns
};

inline cast now_playing;

}  // namespace model

namespace weft::detail {

M* current_g_m() noexcept { return model::now_playing.green[rl::ctx().current_thread()]; }

void leaves_timer() noexcept {
    sleeper*& alarm = model::now_playing.alarm[rl::ctx().current_thread()];
    if (alarm != nullptr) std::exchange(alarm, nullptr)->call();
}

thread_note& this_thread_note() noexcept {
    thread_note* note = model::now_playing.plain[rl::ctx().current_thread()];
    RL_ASSERT(note != nullptr);
    return *note;
}

void end_note_use() noexcept {}

#if !defined(WEFT_MODEL_CANCELS)
// Nothing is cancelled, unless a model includes cancel.cc.
cancel_context* ambient() noexcept { return nullptr; }

bool cancel_context::enter_wait(cancel_wait& /*w*/) noexcept { return true; }

void cancel_context::leave_wait() noexcept {}

void cancel_context::tell_tokens(wait_result /*why*/) noexcept {}
#endif

bool abandoned::may_be(bool /*waited_on*/) noexcept { return false; }

bool abandoned::at_exit() noexcept { return false; }

// The clock jumps once, at any moment, by more than any threshold in the library.
int64_t os::monotonic_ns() noexcept {
    constexpr int64_t jump_ns = 1'000'000'000;
    if (!model::now_playing.later) model::now_playing.later = rl::rand(2) != 0;
    return model::now_playing.later ? 1 + jump_ns : 1;
}

}  // namespace weft::detail

namespace model {

template <typename Suite, int Greens, int Plains>
struct program : rl::test_suite<Suite, 2 * Greens + Plains> {
    static constexpr unsigned greens = Greens;
    static constexpr unsigned threads = Greens + Plains;

    scheduler home;
    P ps[Greens + 1];  // the last one is that of an M that fires timers
    G gs[Greens + 1];
    M ms[Greens + 1];
    thread_note notes[Plains + 1];
    sleeper alarms[Greens + 1];

    program() {
        futexes.clear();
        std::memset(&now_playing, 0, sizeof(now_playing));
        for (unsigned i = 0; i <= greens; ++i) {
            ps[i].index = i;
            gs[i].home = &home;
            ms[i].g = &gs[i];
            ms[i].p = &ps[i];
            ms[i].home = &home;
            if (i == greens) break;
            now_playing.green[i] = &ms[i];
            now_playing.alarm[i] = &alarms[i];
        }
        for (unsigned i = greens; i < threads; ++i) now_playing.plain[i] = &notes[i - greens];
    }

    // Lets the deadline of green thread i pass, as soon as there is one or later. Called by one
    // plain thread, as an M.
    void fire(unsigned i) {
        alarms[i].sleep();
        M* m = &ms[greens];
        fire_timers(m, ps[i].timers, never - 1);
    }

    void thread(unsigned me) {
        if (me < threads) static_cast<Suite*>(this)->run(me);
        if constexpr (Greens != 0) green_thread(me);
    }

private:
    void green_thread(unsigned me) {
        if (me >= threads) run_rest(&ms[me - threads]);
        if (me >= greens) return;
        leaves_timer();  // no further deadline will be set
        await_rest(&ms[me]);
        ms[me].ends = true;
        ms[me].rest.call();
    }
};

// A deadline that fire() and futexes can let pass.
inline constexpr int64_t some_time = 2;

}  // namespace model
