// cancel_model.cc: contexts. A cancellation ends each wait that is open in the context or inside
// it, and each wait that begins later.
//
// - Each wait is ended once, whatever else ends it.
// - No thread touches a wait or a context after its destruction.
// - An interrupted waiter finds the tokens stopped.
//
// src/wait/cancel.cc, all of src/wait/wait.cc and fire_timers of src/sched/park.cc are compiled as
// they are.
//
// mutants: WAIT_LEFT READY_IN_BOTH READY_IN_NEITHER CANCEL_BLINDLY UNLOCKED CLAIM_BLINDLY QUEUE_LEFT TOKEN_LAGS TOLD_TOO_EARLY
#define WEFT_MODEL_CANCELS
#include <algorithm>
#include <array>
#include <atomic>
#include <exception>

#include "model.h"

#if defined(MUTANT_CLAIM_BLINDLY)
#define compare_exchange_weak(expected, value, ...) exchange(value, rl::mo_acq_rel, $) != 77777
#endif
#include <weft/detail/wait.h>
#undef compare_exchange_weak
#include <weft/detail/allocate.h>
#include <weft/error.h>

#include "green.h"
#include "sched/park.cc"
#if defined(MUTANT_WAIT_LEFT)
#define leave_wait() deadline_ns()
#elif defined(MUTANT_QUEUE_LEFT)
#define remove(w) front()
#endif
#include "wait/wait.cc"
#undef leave_wait
#undef remove
#if defined(MUTANT_READY_IN_BOTH)
#define try_claim(who, must) try_claim(who, must) && (must = true)
#elif defined(MUTANT_READY_IN_NEITHER)
#define try_claim(who, must) try_claim(who, must) && (must = false)
#elif defined(MUTANT_CANCEL_BLINDLY)
#define try_claim(who, must) try_claim(who, must) || (must = true)
#elif defined(MUTANT_UNLOCKED)
#define lock() word()
#define unlock() word()
#elif defined(MUTANT_TOKEN_LAGS)
#define told_cancelled_ requested_  // so no waiter is concerned
#elif defined(MUTANT_TOLD_TOO_EARLY)
#define request_stop(b) (beyond->lock_.lock(), beyond->told_cancelled_ = true, beyond->lock_.unlock(), request_stop(b))
#endif
#include "wait/cancel.cc"
#undef request_stop
#undef told_cancelled_
#undef try_claim
#undef lock
#undef unlock

namespace model {

// The ambient contexts of the plain threads, by thread of the checker.
inline cancel_context* ambient_of[threads_max];

}  // namespace model

namespace weft::detail {

cancel_context* ambient() noexcept { return model::ambient_of[rl::ctx().current_thread()]; }

// Stands in for a std::stop_source.
struct stop_bridge {
    atomic<int> owners{1};
    atomic<bool> stopped{false};
    guarded<stop_bridge*> next = nullptr;

    static stop_bridge* make(int64_t /*deadline_ns*/) {
        return ::new (allocate(sizeof(stop_bridge), alignof(stop_bridge))) stop_bridge;
    }
};

void request_stop(stop_bridge& b) noexcept { b.stopped.store(true, release); }

stop_bridge* retain_in_chain(stop_bridge* b, stop_bridge* chain) noexcept {
    b->owners.fetch_add(1, relaxed);
    b->next = chain;
    return b;
}

void release_bridge(stop_bridge* b) noexcept {
    if (b->owners.fetch_sub(1, acq_rel) != 1) return;
    b->~stop_bridge();
    deallocate(b, alignof(stop_bridge));
}

void request_stops(stop_bridge* chain) noexcept {
    while (chain != nullptr) {
        stop_bridge* b = chain;
        chain = b->next;
        request_stop(*b);
        release_bridge(b);
    }
}

}  // namespace weft::detail

namespace {

using namespace model;

// A queue and its lock, on which the threads wait.
template <typename Suite, int Greens, int Plains>
struct suite : program<Suite, Greens, Plains> {
    spin_lock lock;
    wait_queue waiters;
    int given = 0;
    int taken = 0;

    suite() { std::memset(ambient_of, 0, sizeof(ambient_of)); }

    // Waits in a new context inside parent, and then closes it.
    wait_result wait_in(unsigned me, cancel_context* parent, int64_t deadline_ns = never) {
        box<cancel_context> mine(parent, never);
        if (me < Greens) {
            this->gs[me].ambient = &*mine;
            this->gs[me].traits = trait::ambient;
        } else {
            ambient_of[me] = &*mine;
        }
        waiter w;
        lock.lock();
        const wait_result result = wait_cancellable(
            lock,
            {.me = w, .queue = waiters, .bits = 0, .reason = wait_reason::event_wait, .deadline_ns = deadline_ns});
        RL_ASSERT(w.queue == nullptr);
        RL_ASSERT((result == wait_result::served) == w.ok);
        if (w.ok) ++taken;
        return result;
    }

    // Like wait_in, with a token in a context around its own.
    void wait_with_token(unsigned me, cancel_context* parent, int64_t deadline_ns) {
        box<cancel_context> mine(parent, deadline_ns);
        stop_bridge& token = mine->bridge(&stop_bridge::make);
        const wait_result result = wait_in(me, &*mine);
        if (result != wait_result::served) RL_ASSERT(token.stopped.load(acquire));
    }

    void give() {
        lock.lock();
        waiter* w = waiters.pop_claimed();
        lock.unlock();
        if (w == nullptr) return;
        ++given;
        w->ok = true;
        ready(*w);
    }

    void after() { check_books(0); }

    void check_books(int tokens) {
        RL_ASSERT(given == taken);
        RL_ASSERT(blocks_in_use == tokens);
        RL_ASSERT(waiters.empty());
    }
};

// Cancelled from an outer context, against a giver. The second wait does not block.
struct around : suite<around, 1, 2> {
    cancel_context outer{nullptr, never};

    void run(unsigned me) {
        if (me == 0) {
            const bool first = wait_in(me, &outer) == wait_result::served;
            if (!first) RL_ASSERT(wait_in(me, &outer) == wait_result::cancelled);
        }
        if (me == 1) outer.cancel();
        if (me == 2) give();
    }
};

// A wait without a giver.
struct ends : suite<ends, 1, 1> {
    cancel_context outer{nullptr, never};

    void run(unsigned me) {
        if (me == 0) RL_ASSERT(wait_in(me, &outer) == wait_result::cancelled);
        if (me == 1) outer.cancel();
    }
};

// A token agrees with the wait, also when the deadline ended it.
struct tokens : suite<tokens, 1, 2> {
    cancel_context outer{nullptr, never};

    void run(unsigned me) {
        if (me == 0) wait_with_token(me, &outer, some_time);
        if (me == 1) outer.cancel();
        if (me == 2) fire(0);
    }
};

// One token, of a context around two waiters.
struct shared_token : suite<shared_token, 2, 1> {
    cancel_context outer{nullptr, never};
    stop_bridge& token = outer.bridge(&stop_bridge::make);

    void run(unsigned me) {
        if (me < 2 && wait_in(me, &outer) != wait_result::served) RL_ASSERT(token.stopped.load(acquire));
        if (me == 2) outer.cancel();
    }

    void after() { suite::check_books(1); }
};

// Two nested contexts. Two threads cancel at different levels.
struct heights : suite<heights, 1, 2> {
    cancel_context outer{nullptr, never};
    cancel_context inner{&outer, never};

    void run(unsigned me) {
        if (me == 0) RL_ASSERT(wait_in(me, &inner) == wait_result::cancelled);
        if (me == 1) outer.cancel();
        if (me == 2) inner.cancel();
    }

    void after() {
        RL_ASSERT(inner.requested() && outer.requested());
        suite::after();
    }
};

// A green and a plain thread wait in the same scope. Both end before it does.
struct siblings : suite<siblings, 1, 3> {
    box<cancel_context> outer{nullptr, never};
    atomic<int> inside{2};

    void run(unsigned me) {
        if (me < 2) {
            wait_in(me, &*outer);
            inside.fetch_sub(1, acq_rel);
        }
        if (me == 2) outer->cancel();
        if (me == 3) give();
    }
};

// A deadline, a giver and a cancellation.
struct three_ways : suite<three_ways, 1, 3> {
    cancel_context outer{nullptr, never};

    void run(unsigned me) {
        if (me == 0) wait_in(me, &outer, some_time);
        if (me == 1) outer.cancel();
        if (me == 2) give();
        if (me == 3) fire(0);
    }
};

// The context of a future. Its green thread leaves the outer context, which is then destroyed,
// while another thread cancels the future.
struct detached : suite<detached, 1, 2> {
    box<cancel_context> scope{nullptr, never};
    cancel_context state{&*scope, never};
    sleeper over;

    void run(unsigned me) {
        if (me == 0) {
            wait_in(me, &state);
            state.detach();
            over.call();
        }
        if (me == 1) state.cancel();
        if (me == 2) {
            scope->cancel();
            over.sleep();
            scope.destroy();
        }
    }

    void after() {
        RL_ASSERT(state.requested());
        suite::after();
    }
};

}  // namespace

int main() {
    const bool ok = check<ends>("cancelled from around", switches(3)) &&                          //
                    check<around>("cancelled from around, a giver", switches(2)) &&               //
                    check<around>("cancelled from around, a giver", random(500'000)) &&           //
                    check<tokens>("a token, a deadline", switches(1)) &&                          //
                    check<tokens>("a token, a deadline", random(500'000)) &&                      //
                    check<shared_token>("a token around two", random(500'000)) &&                 //
                    check<heights>("cancelled at two heights", switches(2)) &&                    //
                    check<heights>("cancelled at two heights", random(500'000)) &&                //
                    check<siblings>("a green and a plain thread in a scope", random(500'000)) &&  //
                    check<three_ways>("deadline, giver, cancellation", random(500'000)) &&        //
                    check<detached>("a future outlives its scope", switches(2)) &&                //
                    check<detached>("a future outlives its scope", random(500'000));
    return ok ? 0 : 1;
}
