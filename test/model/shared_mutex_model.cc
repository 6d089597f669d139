// shared_mutex_model.cc: the shared mutex.
//
// - A writer is alone. Readers and writers see what it wrote.
// - No waiter is forgotten, whether readers share the word or are spread, and whichever waiters
//   give up.
// - It may be destroyed as soon as no thread holds it.
//
// weft/shared_mutex.h, src/sync/shared_mutex.cc, reader_slots.h and wait.cc are compiled as they
// are. There are two slots, and a reader may be on either at any time.
//
// mutants: LOCK_RELAXED UNLOCK_RELAXED ENTER_RELAXED LEAVE_RELAXED LOCK_BITS_RELAXED UNLOCK_BITS_RELAXED
// mutants: SLOT_ENTER_RELAXED SLOT_LEAVE_RELAXED OPEN_RELAXED CLOSE_RELAXED SLOTS_LEFT_OPEN SPREAD_BESIDE_WRITER
// mutants: LAST_READER_STAYS NOT_COUNTED TRACE_LEFT WAKE_KEPT GIFT_REFUSED ABANDONED_IGNORED TOUCHED_AFTER_SETTLE
#include "model.h"

#if defined(MUTANT_LOCK_BITS_RELAXED)
#undef acquire
#define acquire RELAXED_IN("lock_bits", rl::mo_acquire)
#elif defined(MUTANT_UNLOCK_BITS_RELAXED)
#undef release
#define release RELAXED_IN("unlock_bits", rl::mo_release)
#elif defined(MUTANT_TOUCHED_AFTER_SETTLE)
#undef release
#define release rl::mo_release, $), static_cast<void>(word_.load(rl::mo_relaxed, $)
#endif
#include <weft/detail/spin_lock.h>
#if defined(MUTANT_TOUCHED_AFTER_SETTLE)
#undef release
#define release rl::mo_release, $
#endif
#include <weft/detail/wait.h>

#include "green.h"
#if defined(MUTANT_SLOT_ENTER_RELAXED)
#undef acquire
#define acquire RELAXED_IN("enter", rl::mo_acquire)
#elif defined(MUTANT_SLOT_LEAVE_RELAXED)
#undef release
#define release RELAXED_IN("leave", rl::mo_release)
#elif defined(MUTANT_OPEN_RELAXED)
#undef release
#define release RELAXED_IN("open", rl::mo_release)
#elif defined(MUTANT_CLOSE_RELAXED)
#undef acquire
#define acquire RELAXED_IN("close", rl::mo_acquire)
#elif defined(MUTANT_SLOTS_LEFT_OPEN)
#define exchange(value, ...) fetch_add(0, __VA_ARGS__)
#endif
#include "sync/reader_slots.h"
#undef exchange
#undef acquire
#undef release
#define acquire rl::mo_acquire, $
#define release rl::mo_release, $
#if defined(MUTANT_LOCK_RELAXED)
#undef acquire
#define acquire RELAXED_IN("lock", rl::mo_acquire)
#elif defined(MUTANT_UNLOCK_RELAXED)
#undef release
#define release RELAXED_IN("unlock", rl::mo_release)
#elif defined(MUTANT_ENTER_RELAXED)
#undef acquire
#define acquire RELAXED_IN("enter_quickly", rl::mo_acquire)
#elif defined(MUTANT_LEAVE_RELAXED)
#undef release
#define release RELAXED_IN("unlock_shared", rl::mo_release)
#endif
#define private public  // so that a suite can play a green thread that never runs again, and spread readers at will
#include <weft/shared_mutex.h>
#undef private
#include "os/os.h"

#if defined(MUTANT_SPREAD_BESIDE_WRITER)
#define flags (std::strcmp(__func__, "spread_readers") == 0 ? 1U : 255U)
#elif defined(MUTANT_NOT_COUNTED)  // a reader that is let in is not counted
#define unlock_bits(value) unlock_bits(std::strcmp(__func__, "settle") == 0 ? (value) & 255U : (value))
#elif defined(MUTANT_LAST_READER_STAYS)  // with a writer waiting for it
#define settle(value) settle(MUTATED_##value)
#define MUTATED_uint32_t uint32_t
#define MUTATED_served served
#define MUTATED_m m
#define MUTATED_state_ state_
#define MUTATED_bits bits + (std::strcmp(__func__, "unlock_shared_slow") == 0 ? reader : 0U)
#elif defined(MUTANT_TRACE_LEFT)  // a waiter that gives up just leaves
#define wait_cancellable(...)                                    \
    ({                                                           \
        const wait_result ended = wait_cancellable(__VA_ARGS__); \
        if (ended != wait_result::served) return ended;          \
        ended;                                                   \
    })
#elif defined(MUTANT_WAKE_KEPT)  // a writer that gives up counts as being on its way for ever
#define timed_out served, state_.unlock_bits(state_.lock_bits() | woken), wait_result::timed_out
#elif defined(MUTANT_GIFT_REFUSED)
#define wait(...) wait(__VA_ARGS__), me.ok = false
#endif
#include "sync/shared_mutex.cc"
#undef flags
#undef unlock_bits
#undef settle
#undef wait_cancellable
#undef timed_out
#undef wait

#include "sched/park.cc"
#include "wait/wait.cc"

namespace weft::detail {

// Green threads migrate.
uint32_t slot_of_caller() noexcept { return rl::rand(2); }

uint32_t log2_slots_for_caller() noexcept { return 1; }

}  // namespace weft::detail

namespace {

using namespace model;
using weft::shared_mutex;

void expect_free(shared_mutex& m) {
    RL_ASSERT(m.writers_.empty());
    RL_ASSERT(m.readers_.empty());
    RL_ASSERT(m.try_lock());  // no bit is left behind
    m.unlock();
    RL_ASSERT(m.try_lock_shared());
    m.unlock_shared();
}

constexpr bool together = false;  // readers share the word
constexpr bool apart = true;      // at first they are spread

// Thread i writes if bit i of Writers is set, spreads the readers if bit i of Spreaders is set, and
// reads otherwise, Rounds times each.
template <int Greens, int Plains, unsigned Writers, unsigned Spreaders, bool Spread, int Rounds = 1>
struct mixed : program<mixed<Greens, Plains, Writers, Spreaders, Spread, Rounds>, Greens, Plains> {
    shared_mutex m;
    guarded<int> value = 0;

    mixed() {
        if (Spread) m.spread_readers();
    }

    void run(unsigned me) {
        for (int i = 0; i < Rounds; ++i) {
            if ((Writers >> me & 1) != 0) {
                m.lock();
                ++value;
                m.unlock();
            } else if ((Spreaders >> me & 1) != 0) {
                m.spread_readers();
            } else {
                m.lock_shared();
                RL_ASSERT(value >= 0);
                m.unlock_shared();
            }
        }
    }

    void after() {
        RL_ASSERT(value == Rounds * __builtin_popcount(Writers));
        expect_free(m);
    }
};

// Thread 0 writes, thread 1 reads. The thread that finds that the other one has been in destroys
// the lock after its own section.
template <bool Spread>
struct destroyed : program<destroyed<Spread>, 1, 1> {
    box<shared_mutex> m;
    guarded<int> written = 0;
    atomic<uint32_t> has_read{0};

    destroyed() {
        if (Spread) m->spread_readers();
    }

    void run(unsigned me) {
        bool last = false;
        if (me == 0) {
            m->lock();
            written = 1;
            last = has_read.load(relaxed) != 0;
            m->unlock();
        } else {
            m->lock_shared();
            has_read.store(1, relaxed);
            last = written != 0;
            m->unlock_shared();
        }
        if (last) m.destroy();
    }
};

// A green writer with a deadline, which a thread lets pass. The others read, and write if their bit
// in Writers is set, twice each. Threads that the writer kept out get in.
template <int Plains, unsigned Writers, bool Fires>
struct writer_gives_up : program<writer_gives_up<Plains, Writers, Fires>, 1, Plains> {
    shared_mutex m;
    guarded<int> value = 0;

    void run(unsigned me) {
        if (me == 0) {
            if (!m.lock_until(some_time)) return;
            ++value;
            m.unlock();
        } else if (Fires && me == Plains) {
            this->fire(0);
        } else {
            for (int i = 0; i < 2; ++i) {
                if ((Writers >> me & 1) != 0) {
                    m.lock();
                    ++value;
                    m.unlock();
                } else {
                    m.lock_shared();
                    RL_ASSERT(value >= 0);
                    m.unlock_shared();
                }
            }
        }
    }

    void after() { expect_free(m); }
};

// A writer that has given up does not keep readers from joining the reader that is still in.
struct gives_way : program<gives_way, 1, 2> {
    shared_mutex m;
    sleeper in, gave_up;

    void run(unsigned me) {
        if (me == 0) {
            in.sleep();
            RL_ASSERT(!m.lock_until(some_time));
            gave_up.call();
        } else if (me == 1) {
            m.lock_shared();
            in.call();
            gave_up.sleep();
            RL_ASSERT(m.try_lock_shared());
            m.unlock_shared();
            m.unlock_shared();
        } else {
            fire(0);
        }
    }

    void after() { expect_free(m); }
};

// A green reader with a deadline, a writer and another reader.
struct reader_gives_up : program<reader_gives_up, 1, 3> {
    shared_mutex m;
    guarded<int> value = 0;

    void run(unsigned me) {
        if (me == 0) {
            if (!m.lock_shared_until(some_time)) return;
            RL_ASSERT(value >= 0);
            m.unlock_shared();
        } else if (me == 1) {
            m.lock();
            ++value;
            m.unlock();
        } else if (me == 2) {
            m.lock_shared();
            RL_ASSERT(value >= 0);
            m.unlock_shared();
        } else {
            fire(0);
        }
    }

    void after() {
        RL_ASSERT(value == 1);
        expect_free(m);
    }
};

// The runtime of a waiter stops, while the waiter is queued or after it was let in or woken.
// Another green thread must still get the lock. Held: it waits for a writer. Reads: it is a reader.
template <bool Held, bool Reads>
struct abandoned_waiter : program<abandoned_waiter<Held, Reads>, 1, 2> {
    shared_mutex m;
    sleeper held, queued;
    guarded<int> value = 0;

    void run(unsigned me) {
        if (me == 0) {
            m.lock();
            ++value;
            m.unlock();
        } else if (me == 2) {
            never_runs_again();
        } else if (Held) {
            m.lock();
            held.call();
            queued.sleep();
            m.unlock();
        } else {
            m.lock_shared();
            held.call();
            queued.sleep();
            m.unlock_shared();
        }
    }

    void never_runs_again() {
        G& g = this->gs[this->greens];
        g.state = g_state::waiting;
        lock_waiter w(&m, Reads ? &shared_mutex::pass_on_shared : &shared_mutex::pass_on);
        w.g = &g;
        held.sleep();
        const uint32_t bits = m.state_.lock_bits();
        wait_queue& queue = Reads ? m.readers_ : m.writers_;
        queue.push_back(w);
        const uint32_t more = Reads ? shared_mutex::hungry : Held ? 0 : shared_mutex::pending;
        m.state_.unlock_bits(bits | shared_mutex::waiting | more);
        queued.call();
        // As unlink_waiter in src/lifecycle/start.cc does.
        const uint32_t now_bits = m.state_.lock_bits();
        const bool linked = w.queue != nullptr;
        if (linked) queue.remove(w);
        m.state_.unlock_bits(now_bits);
        if (!linked) g.turn.sleep();  // the thread that ended its wait is done with it
#if !defined(MUTANT_ABANDONED_IGNORED)
        w.pass_on(w, !linked);
#endif
    }

    void after() {
        RL_ASSERT(value == 1);
        expect_free(m);
    }
};

}  // namespace

int main() {
    // The suites that find most come first, those that take longest last.
    const bool ok = check<mixed<1, 1, 0b01, 0, together>>("a green writer, a plain reader", switches(4)) &&
                    check<mixed<1, 1, 0b10, 0, together>>("a green reader, a plain writer", switches(3)) &&
                    check<mixed<0, 3, 0b001, 0, apart>>("a writer, two spread readers, plain", random(500'000)) &&
                    check<mixed<0, 3, 0b001, 0b100, together, 2>>("a reader that spreads, twice", random(500'000)) &&
                    check<destroyed<together>>("destroyed by the last one out", switches(4)) &&
                    check<destroyed<apart>>("destroyed by the last one out, spread", random(500'000)) &&
                    check<writer_gives_up<2, 0, true>>("a writer's deadline", switches(1)) &&
                    check<writer_gives_up<3, 0, true>>("a writer's deadline, two readers", random(500'000)) &&
                    check<writer_gives_up<2, 0b110, false>>("a writer woken too late", random(500'000)) &&
                    check<gives_way>("a writer that gave up", random(200'000)) &&
                    check<reader_gives_up>("a reader's deadline", random(500'000)) &&
                    check<abandoned_waiter<true, false>>("a writer behind a writer never runs", random(300'000)) &&
                    check<abandoned_waiter<false, false>>("a writer behind a reader never runs", random(300'000)) &&
                    check<abandoned_waiter<true, true>>("a reader never runs", random(300'000)) &&
                    check<mixed<1, 2, 0b001, 0, together>>("a green writer, two readers", random(500'000)) &&
                    check<mixed<1, 2, 0b011, 0, together, 2>>("two writers, a reader, twice", random(1'000'000)) &&
                    check<mixed<2, 2, 0b0101, 0, together, 2>>("two of each, twice", random(1'000'000)) &&
                    check<mixed<1, 3, 0b0001, 0b1000, together, 2>>("readers that spread, twice", random(1'000'000)) &&
                    check<mixed<1, 1, 0b01, 0, apart>>("a green writer, a spread reader", switches(3));
    return ok ? 0 : 1;
}
