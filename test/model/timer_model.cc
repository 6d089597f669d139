// timer_model.cc: timers.
//
// - A tick or a call happens or is prevented, and stop and reset return which.
// - After stop and reset, no earlier tick is received.
// - The timeout is in at most one queue.
// - The block is freed once, when no thread touches it any longer.
//
// src/time/timer.cc, weft/detail/chan_state.h, src/sched/timer_queue.h, fire_timers and
// src/wait/wait.cc are compiled as they are. The green thread for a call is only counted.
//
// mutants: DROP_LOOKS_EARLY TICK_LEFT STOP_UNSEEN RESET_UNSEEN ORPHAN_UNSEEN ALARM_LEFT FREED_ON_ITS_WAY PLACED_TWICE UNLOCKED
// mutants: EARLIER_IS_LATER CALL_UNCHECKED
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <exception>
#include <iterator>
#include <source_location>

#include "model.h"

static_assert(weft::detail::model_build, "before the headers that it is about");

#include <weft/chan.h>
#include <weft/detail/chan_state.h>
#include <weft/detail/wait.h>
#include <weft/error.h>
#include <weft/timer.h>

#include "green.h"
#include "sched/park.cc"
#include "time/timer_state.h"
#include "wait/wait.cc"
#if defined(MUTANT_DROP_LOOKS_EARLY)  // not under the lock under which it acts
namespace model {

inline int let_others_in(weft::detail::spin_lock& lock) {
    lock.unlock();
    rl::ctx().sched();
    lock.lock();
    return 1;
}

}  // namespace model

#undef acquire
#define acquire rl::mo_acquire, $) == 1 && model::let_others_in(t->channel().lock
#elif defined(MUTANT_TICK_LEFT)
#define clear_locked() count * 0
#elif defined(MUTANT_STOP_UNSEEN)
#define arrived(runs, now) arrived(runs, now) == arrival::stopped ? arrival::due : t.arrived(runs, now)
#elif defined(MUTANT_RESET_UNSEEN)
#define arrived(runs, now) arrived(runs, now) == arrival::early ? arrival::due : t.arrived(runs, now)
#elif defined(MUTANT_ORPHAN_UNSEEN)
#define arrived(runs, now) arrived(runs, now) == arrival::orphaned ? arrival::stopped : t.arrived(runs, now)
#elif defined(MUTANT_ALARM_LEFT)
#define remove_locked(t) size()
#elif defined(MUTANT_FREED_ON_ITS_WAY)
#define leave_to_alarm() leave_to_alarm() && false
#elif defined(MUTANT_PLACED_TWICE)
#define is_on_its_way() is_on_its_way() && false
#elif defined(MUTANT_CALL_UNCHECKED)
#define can_call(m) true
#elif defined(MUTANT_EARLIER_IS_LATER)
#define alarm_ns due_ns
#elif defined(MUTANT_UNLOCKED)
#define lock() word()
#define unlock() word()
#endif
#include "time/timer.cc"
#undef acquire
#define acquire rl::mo_acquire, $
#undef clear_locked
#undef arrived
#undef remove_locked
#undef leave_to_alarm
#undef is_on_its_way
#undef can_call
#undef alarm_ns
#undef lock
#undef unlock

// ---- What the model needs of the rest of the library.

namespace {

using namespace model;

// The counts of an execution.
struct {
    scheduler* the_default;
    int called;
    int destroyed;  // the number of destroyed functions
    bool may_lack_memory;
    bool has_g;  // for the next call
} books;

extern const timed_function* const the_function;

}  // namespace

namespace weft::detail {

scheduler& pin_default_scheduler() { return *books.the_default; }

void release_labels(label_block* /*b*/) noexcept { RL_ASSERT(false); }

timer_maker timer_maker::of_calls(const timed_function* /*f*/) noexcept { return {}; }

bool can_call(M* /*m*/) noexcept {
    books.has_g = !books.may_lack_memory || rl::rand(2) == 0;
    return books.has_g;
}

// The call ends at once.
void start_call(M* /*m*/, timer_state& t, int64_t /*now_ns*/) noexcept {
    RL_ASSERT(books.has_g);
    if (t.keeps_itself) {
        t.keeps_itself = false;
    } else {
        t.channel().retain();
    }
    t.channel().lock.unlock();
    ++books.called;
    rl::ctx().sched();  // the call takes its time
    RL_ASSERT(t.function == the_function);
    t.channel().drop();
}

chan_status chan_interrupted(wait_result result, wait_result* /*interrupted*/) {
    RL_ASSERT(result == wait_result::timed_out);
    return chan_status::timed_out;
}

chan_status nil_wait(wait_reason /*reason*/, int64_t /*deadline_ns*/, wait_result* /*interrupted*/) {
    return chan_status::would_block;
}

void chan_destroyed_while_waited_on() noexcept { RL_ASSERT(false); }

}  // namespace weft::detail

namespace {

// Later than any reading of the clock, and earlier than an hour after one.
constexpr int64_t soon = 2'000'000'000;
constexpr int64_t hour = 3'600'000'000'000;

constexpr timed_function counted{
    [](void* /*f*/) {},
    [](void* /*f*/) noexcept { ++books.destroyed; },
    1,
    1,
};
const timed_function* const the_function = &counted;

// One timer. fires() plays an M that fires what is due in the queue of P 0, the given number of
// times.
template <typename Suite, int Greens, int Plains>
struct suite : program<Suite, Greens, Plains> {
    using base = program<Suite, Greens, Plains>;
    timer_state* t = nullptr;
    sleeper started[2];
    int prevented = 0;
    int received = 0;

    explicit suite(const timed_function* f = nullptr) {
        books = {};
        this->home.ps.at = this->ps;
        books.the_default = &this->home;
        t = timer_make(f, std::source_location::current());
    }

    void start(int64_t delay_ns) { prevented += timer_start(*t, delay_ns, 0) ? 1 : 0; }

    void stop() { prevented += timer_stop(*t) ? 1 : 0; }

    void try_recv() { received += timer_chan(*t).try_recv().status == weft::chan_status::ok ? 1 : 0; }

    void fires(int times, int64_t now_ns) {
        for (int i = 0; i < times; ++i) fire_timers(&this->ms[base::greens], this->ps[0].timers, now_ns);
    }

    // Nothing is left when the timer is dropped.
    void drop() {
        if (t != nullptr) timer_drop(t);
        RL_ASSERT(blocks_in_use == 0);
        for (P& p : this->ps) RL_ASSERT(p.timers.size() == 0);
    }
};

// Started and stopped while an M fires. A third thread receives.
struct stop_against_fire : suite<stop_against_fire, 0, 3> {
    void run(unsigned me) {
        if (me == 0) {
            start(0);
            for (sleeper& s : started) s.call();
            stop();
            RL_ASSERT(timer_chan(*t).try_recv().status == weft::chan_status::would_block);
        } else {
            started[me - 1].sleep();
            if (me == 1) fires(1, soon);
            if (me == 2) try_recv();
        }
    }

    void after() {
        RL_ASSERT(prevented + received == 1);
        drop();
    }
};

// Started again while two Ms fire, for later or for now.
template <int64_t Again>
struct reset_against_fire : suite<reset_against_fire<Again>, 0, 3> {
    void run(unsigned me) {
        if (me == 0) {
            this->start(0);
            for (sleeper& s : this->started) s.call();
            this->start(Again);
            this->try_recv();
        } else {
            this->started[me - 1].sleep();
            this->fires(1, soon);
        }
    }

    void after() {
        RL_ASSERT(this->prevented <= 1 && (Again == 0 || this->received == 0));
        const int before = this->prevented;
        this->try_recv();
        this->stop();
        RL_ASSERT(this->prevented == before + 1 || this->received != 0);
        RL_ASSERT(this->received <= (Again == 0 ? 1 : 0));
        this->drop();
    }
};

// Started for later, then brought forward while an M fires, and then put off a little.
struct brought_forward : suite<brought_forward, 0, 2> {
    void run(unsigned me) {
        if (me == 0) {
            start(hour);
            started[0].call();
            start(0);
            start(0);
        } else {
            started[0].sleep();
            fires(1, soon);
        }
    }

    void after() {
        fires(1, soon);  // a thread that fired too early fires again
        try_recv();
        RL_ASSERT(received == 1);
        drop();
    }
};

// Put off while an M fires: it ticks at the later time.
struct put_off : suite<put_off, 0, 2> {
    void run(unsigned me) {
        if (me == 0) {
            start(0);
            started[0].call();
            start(hour);
        } else {
            started[0].sleep();
            fires(1, soon);
        }
    }

    void after() {
        fires(1, soon);  // too early, if the timer was not put off yet
        try_recv();
        RL_ASSERT(received == 0);
        fires(1, 2 * hour);
        try_recv();
        RL_ASSERT(received == 1);
        drop();
    }
};

// A green thread waits for the tick, or its own deadline. They fire together or one after the
// other.
struct timeout_against_fire : suite<timeout_against_fire, 1, 1> {
    void run(unsigned me) {
        if (me == 0) {
            start(0);
            const auto deadline = std::chrono::steady_clock::time_point{std::chrono::nanoseconds{soon}};
            received += timer_chan(*t).recv_until(deadline).status == weft::chan_status::ok ? 1 : 0;
            stop();
        } else {
            alarms[0].sleep();
            fires(2, never - 1);
        }
    }

    void after() {
        RL_ASSERT(prevented + received == 1);
        drop();
    }
};

// A green thread waits for the tick alone. It comes.
struct waits_for_tick : suite<waits_for_tick, 1, 1> {
    void run(unsigned me) {
        if (me == 0) {
            start(0);
            received += timer_chan(*t).recv().has_value() ? 1 : 0;
        } else {
            alarms[0].sleep();
            fires(1, soon);
        }
    }

    void after() {
        RL_ASSERT(received == 1);
        drop();
    }
};

// The timer and its channel are dropped while it fires. For after(), the channel alone.
template <bool Detached>
struct drop_against_fire : suite<drop_against_fire<Detached>, 0, 3> {
    std::optional<weft::recv_chan<tick>> c;

    drop_against_fire() { c.emplace(timer_chan(*this->t)); }

    void run(unsigned me) {
        if (me == 0) {
            this->start(0);
            for (sleeper& s : this->started) s.call();
            timer_state* dropped = std::exchange(this->t, nullptr);
            if (Detached) {
                timer_detach(dropped);
            } else {
                timer_drop(dropped);
            }
        } else {
            this->started[me - 1].sleep();
            if (me == 1) this->fires(1, soon);
            if (me == 2) c.reset();
        }
    }

    void after() { this->drop(); }
};

// With a function: stopped, or started again, while an M fires. There may be no memory for the
// call.
template <bool Again, bool Lacks = false>
struct call_against_fire : suite<call_against_fire<Again, Lacks>, 0, 2> {
    call_against_fire() : suite<call_against_fire<Again, Lacks>, 0, 2>(the_function) { books.may_lack_memory = Lacks; }

    void run(unsigned me) {
        if (me == 0) {
            this->start(0);
            this->started[0].call();
            if (Again) {
                this->start(hour);
                this->stop();
            } else {
                this->stop();
            }
        } else {
            this->started[0].sleep();
            this->fires(1, soon);
        }
    }

    void after() {
        RL_ASSERT(this->prevented + books.called == (Again ? 2 : 1));
        this->drop();
        RL_ASSERT(books.destroyed == 1);
    }
};

// With a function: put off for ever while an M fires, and detached.
struct call_that_never_comes : suite<call_that_never_comes, 0, 2> {
    call_that_never_comes() : suite(the_function) {}

    void run(unsigned me) {
        if (me == 0) {
            start(0);
            started[0].call();
            start(never);
            timer_detach(std::exchange(t, nullptr));
        } else {
            started[0].sleep();
            fires(1, soon);
        }
    }

    void after() {
        drop();
        RL_ASSERT(books.destroyed == 1);
    }
};

// With a function: dropped, or detached, while an M fires. There may be no memory for the call
// then.
template <bool Detached, bool Lacks = false>
struct call_against_drop : suite<call_against_drop<Detached, Lacks>, 0, 2> {
    call_against_drop() : suite<call_against_drop<Detached, Lacks>, 0, 2>(the_function) {
        books.may_lack_memory = Lacks;
    }

    void run(unsigned me) {
        if (me == 0) {
            this->start(0);
            this->started[0].call();
            timer_state* dropped = std::exchange(this->t, nullptr);
            if (Detached) {
                timer_detach(dropped);
            } else {
                timer_drop(dropped);
            }
        } else {
            this->started[0].sleep();
            this->fires(1, soon);
        }
    }

    void after() {
        books.may_lack_memory = false;
        this->fires(1, Lacks ? hour : soon);
        RL_ASSERT(!Detached || books.called == 1);
        this->drop();
        RL_ASSERT(books.destroyed == 1);
    }
};

// The runtime stops while other threads stop, start or drop one of its timers.
template <bool Function>
struct runtime_stops : suite<runtime_stops<Function>, 0, 3> {
    scheduler another;
    P of_another;

    runtime_stops() : suite<runtime_stops<Function>, 0, 3>(Function ? the_function : nullptr) {
        another.ps.at = &of_another;
        this->start(hour);
        books.the_default = &another;
    }

    void run(unsigned me) {
        if (me == 0) end_timers(this->ps[0].timers);
        if (me == 1) this->start(hour);
        if (me == 2) this->stop();
    }

    void after() {
        end_timers(this->ps[0].timers);  // timers that were added after the first call
        this->stop();
        RL_ASSERT(of_another.timers.size() == 0);
        this->drop();
    }
};

}  // namespace

int main() {
    const bool ok = check<stop_against_fire>("stop against fire", switches(3)) &&                            //
                    check<stop_against_fire>("stop against fire", random(300'000)) &&                        //
                    check<reset_against_fire<0>>("reset to now against fire", random(300'000)) &&            //
                    check<reset_against_fire<hour>>("reset to later against fire", random(300'000)) &&       //
                    check<brought_forward>("brought forward against fire", switches(3)) &&                   //
                    check<put_off>("put off against fire", switches(3)) &&                                   //
                    check<timeout_against_fire>("a wait's deadline against fire", random(300'000)) &&        //
                    check<waits_for_tick>("a wait for a tick", random(300'000)) &&                           //
                    check<drop_against_fire<false>>("drop against fire", random(300'000)) &&                 //
                    check<drop_against_fire<true>>("the last channel against fire", random(300'000)) &&      //
                    check<call_against_fire<false>>("a call, stop against fire", switches(4)) &&             //
                    check<call_against_fire<true>>("a call, reset against fire", switches(4)) &&             //
                    check<call_against_fire<true, true>>("a call without memory, reset", switches(4)) &&     //
                    check<call_that_never_comes>("a call, put off for ever", switches(4)) &&                 //
                    check<call_against_drop<false>>("a call, drop against fire", switches(4)) &&             //
                    check<call_against_drop<true>>("a call, detached", switches(4)) &&                       //
                    check<call_against_drop<true, true>>("a call without memory, detached", switches(4)) &&  //
                    check<runtime_stops<false>>("the runtime stops", random(300'000)) &&                     //
                    check<runtime_stops<true>>("the runtime stops, with a call", random(300'000));
    return ok ? 0 : 1;
}
