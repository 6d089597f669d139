// poll_side_model.cc: one direction of a file.
//
// - No edge is lost, even if threads try, wait, give up or close at the same time.
// - Data for several waiters reaches all of them, although an edge wakes one.
//
// src/netpoll/poll_side.cc and src/wait/wait.cc are compiled as they are. The file is a number: how
// much can be read. The suites play the steps of a call, I1 to I5.
//
// mutants: EDGE_NOT_COUNTED LOOK_LEFT_OUT NOT_PASSED_ON WAITING_FORGOTTEN CLOSED_IN_SILENCE EDGES_RELAXED COUNTED_AFTER_TRYING
// mutants: KEPT_BY_WHO_IS_LATE
#include <weft/detail/wait.h>
#include <weft/error.h>

#include "green.h"
#include "model.h"
#if defined(MUTANT_EDGES_RELAXED)
#undef acquire
#define acquire RELAXED_IN("edges", rl::mo_acquire)
#endif
#include "netpoll/poll_side.h"
#if defined(MUTANT_EDGE_NOT_COUNTED)
#define edge 0
#elif defined(MUTANT_LOOK_LEFT_OUT)
namespace weft::detail {
constexpr uint32_t seen = 0;  // where no other is in scope
}

#define edges_of(bits) (static_cast<void>(bits), seen)
#elif defined(MUTANT_WAITING_FORGOTTEN)
#define waiting 0
#elif defined(MUTANT_CLOSED_IN_SILENCE)
#define ready_all static_cast<void>
#endif
#include "netpoll/poll_side.cc"
#undef edge
#undef edges_of
#undef waiting
#undef ready_all

#include "sched/park.cc"
#include "wait/wait.cc"

namespace {

using namespace model;

constexpr uint32_t generation = 1;

#if defined(MUTANT_COUNTED_AFTER_TRYING)
constexpr bool counts_late = true;
#else
constexpr bool counts_late = false;
#endif
#if defined(MUTANT_NOT_PASSED_ON)
constexpr bool passes = false;
#else
constexpr bool passes = true;
#endif

#if defined(MUTANT_KEPT_BY_WHO_IS_LATE)
constexpr bool passes_late = false;
#else
constexpr bool passes_late = true;
#endif

enum outcome : int { got_one, gave_up, found_it_closed };

// The state in the system and the descriptor.
struct file {
    poll_side side;
    atomic<uint64_t> word{uint64_t{generation} << generation_shift};
    atomic<int> there{0};
    atomic<bool> closed{false};

    // The system call.
    bool take() {
        int n = there.load(acquire);
        while (n != 0) {
            if (there.compare_exchange_weak(n, n - 1, acq_rel, acquire)) return true;
        }
        return false;
    }

    // late: once woken, it times out before it tries.
    outcome read(int64_t deadline_ns, bool late = false) {
        for (;;) {
            const bool early = counts_late && take();
            const uint32_t seen = side.edges();                // I1
            if (closed.load(relaxed)) return found_it_closed;  // relaxed: A1
            if (counts_late ? early : take()) {                // I2
                if (passes) side.pass_on();
                return got_one;
            }
            const wait_result r = side.wait_after(seen, wait_reason::fd_readable, deadline_ns);
            if (r == wait_result::timed_out) return gave_up;
            RL_ASSERT(r == wait_result::served);
            if (late) {
                if (passes_late) side.pass_on();
                return gave_up;
            }
        }
    }

    void happen() {
        if (waiter* w = side.count_edge(word, generation, false)) ready(*w);
    }

    void arrive(int n) {
        there.fetch_add(n, acq_rel);
        happen();
    }
};

// Data arrives while a green or a plain thread checks for it.
template <int Greens>
struct one_reader : program<one_reader<Greens>, Greens, 2 - Greens> {
    file f;

    void run(unsigned me) {
        if (me == 0) {
            const outcome o = f.read(never);
            RL_ASSERT(o == got_one);
        } else {
            f.arrive(1);
        }
    }
};

// Data for both arrives at once, with one edge.
struct two_readers : program<two_readers, 2, 1> {
    file f;

    void run(unsigned me) {
        if (me != 2) {
            const outcome o = f.read(never);
            RL_ASSERT(o == got_one);
        } else {
            f.arrive(2);
        }
    }
};

// The deadline passes at that moment: the reader takes the data, or leaves it.
struct deadline : program<deadline, 1, 2> {
    file f;

    void run(unsigned me) {
        if (me == 0) {
            const outcome o = f.read(some_time);
            RL_ASSERT(o == got_one || o == gave_up);
            RL_ASSERT(f.side.waiters_for_test() == 0);
            if (o == gave_up) {
                const outcome later = f.read(never);
                RL_ASSERT(later == got_one);
            }
        } else if (me == 1) {
            fire(0);
        } else {
            f.arrive(1);
        }
    }
};

// One reader is woken after its deadline. The other one, which waits longer, must be woken.
struct one_late : program<one_late, 2, 1> {
    file f;

    void run(unsigned me) {
        if (me == 0) {
            const outcome o = f.read(never, true);
            RL_ASSERT(o == got_one || o == gave_up);
        } else if (me == 1) {
            const outcome o = f.read(never);
            RL_ASSERT(o == got_one);
        } else {
            f.arrive(2);
        }
    }
};

struct closing : program<closing, 1, 1> {
    file f;

    void run(unsigned me) {
        if (me == 0) {
            const outcome o = f.read(never);
            RL_ASSERT(o == found_it_closed);
        } else {
            f.closed.store(true, relaxed);  // relaxed: the edge publishes it
            f.side.wake_all();
        }
    }
};

}  // namespace

int main() {
    const bool ok = check<one_reader<1>>("one reader", all) &&                       //
                    check<one_reader<0>>("a plain one", switches(4)) &&              //
                    check<closing>("closed", all) &&                                 //
                    check<two_readers>("two readers, one edge", random(200'000)) &&  //
                    check<one_late>("two readers, one late", random(200'000)) &&     //
                    check<deadline>("with a deadline", switches(1)) &&               //
                    check<deadline>("with a deadline", random(200'000));
    return ok ? 0 : 1;
}
