// note_model.cc: the note on which a thread sleeps. No wake-up is lost or invented, and the sleeper
// sees what the waker wrote before.
//
// The kernel's half is in futex.h.
//
// mutants: WAKE_RELAXED SLEEP_RELAXED WAKE_ONLY_LOOKS SLEEP_BLINDLY TIMEOUT_WINS FUTEX_TRUSTED GOES_BLINDLY
#include "model.h"

#if defined(MUTANT_WAKE_RELAXED)
#undef release
#define release rl::mo_relaxed, $
#elif defined(MUTANT_SLEEP_RELAXED)
#undef acquire
#define acquire rl::mo_relaxed, $
#endif
#include <weft/detail/wait.h>

#include "futex.h"
#if defined(MUTANT_WAKE_ONLY_LOOKS)
#define exchange(value, ...) load(rl::mo_relaxed, $) == asleep&& word_.exchange(value, __VA_ARGS__)
#elif defined(MUTANT_SLEEP_BLINDLY)
#define compare_exchange_strong(expected, value, ...) MUTATED_##value(expected, value, __VA_ARGS__)
#define MUTATED_asleep(expected, value, ...) exchange(value, rl::mo_acquire, $) && false
#define MUTATED_idle(...) compare_exchange_strong(__VA_ARGS__)
#define MUTATED_elsewhere(...) compare_exchange_strong(__VA_ARGS__)
#elif defined(MUTANT_GOES_BLINDLY)
#define compare_exchange_strong(expected, value, ...) MUTATED_##value(expected, value, __VA_ARGS__)
#define MUTATED_elsewhere(expected, value, ...) exchange(value, rl::mo_acquire, $) != 99
#define MUTATED_asleep(...) compare_exchange_strong(__VA_ARGS__)
#define MUTATED_idle(...) compare_exchange_strong(__VA_ARGS__)
#elif defined(MUTANT_TIMEOUT_WINS)
#define compare_exchange_strong(expected, value, ...) MUTATED_##value(expected, value, __VA_ARGS__)
#define MUTATED_asleep(...) compare_exchange_strong(__VA_ARGS__)
#define MUTATED_idle(expected, value, ...) exchange(value, rl::mo_acquire, $) && false
#define MUTATED_elsewhere(...) compare_exchange_strong(__VA_ARGS__)
#elif defined(MUTANT_FUTEX_TRUSTED)
#define continue return true
#endif
#include "os/note.h"
#undef exchange
#undef compare_exchange_strong
#undef continue

namespace {

using namespace model;

// One wake, one sleep.
struct woken : rl::test_suite<woken, 2> {
    note it;
    guarded<int> message = 0;

    void before() { futexes.clear(); }

    void thread(unsigned me) {
        if (me == 0) {
            const bool was_woken = it.sleep(never);
            RL_ASSERT(was_woken && message == 1);
        } else {
            message = 1;
            it.wake();
        }
    }
};

// Two rounds on one note. The kernel's half of the first wake-up may come during the second sleep.
struct twice : rl::test_suite<twice, 3> {
    note it;
    guarded<int> message[2] = {0, 0};
    atomic<uint32_t> second{0};

    void before() { futexes.clear(); }

    void thread(unsigned me) {
        if (me == 0) {
            (void)it.sleep(never);
            RL_ASSERT(message[0] == 1);
            it.reset();
            second.store(1, release);
            const bool was_woken = it.sleep(never);
            RL_ASSERT(was_woken && message[1] == 1);
        } else if (me == 1) {
            message[0] = 1;
            it.wake();
        } else {
            while (second.load(acquire) == 0) rl::yield(1, $);
            message[1] = 1;
            it.wake();
        }
    }
};

// A sleep that may time out, like that of an M or of a plain thread with a deadline. After a
// timeout, the thread removes itself from a list under a lock. If another thread has removed it,
// that thread will wake it.
struct timed : rl::test_suite<timed, 2> {
    note it;
    atomic<uint32_t> listed{1};
    guarded<int> message = 0;

    void before() { futexes.clear(); }

    void thread(unsigned me) {
        if (me == 0) {
            if (!it.sleep(1)) {
                if (listed.exchange(0, acq_rel) != 0) return;
                const bool was_woken = it.sleep(never);
                RL_ASSERT(was_woken);
            }
            RL_ASSERT(message == 1);
        } else if (listed.exchange(0, acq_rel) != 0) {
            message = 1;
            it.wake();
        }
    }
};

// Like timed, with a second sleep after a timeout, as the sentinel does.
struct naps : rl::test_suite<naps, 2> {
    note it;
    guarded<int> message = 0;

    void before() { futexes.clear(); }

    void thread(unsigned me) {
        if (me == 0) {
            const bool was_woken = it.sleep(1) || it.sleep(1) || it.sleep(never);
            RL_ASSERT(was_woken && message == 1);
        } else {
            message = 1;
            it.wake();
        }
    }
};

// A sleep elsewhere, like that of an M in its poller. An event may also end it. The thread that
// notifies the sleeper there interrupts the poller. The interrupt may come late, when the sleeper
// has returned, or has gone there again.
struct elsewhere : rl::test_suite<elsewhere, 2> {
    note it;
    atomic<uint32_t> fetched{0};
    guarded<int> message = 0;

    void before() { futexes.clear(); }

    bool poll() {
        if (!it.go_elsewhere()) return true;
        const bool something_else = rl::rand(2) == 0;
        while (!something_else && fetched.load(acquire) == 0) rl::yield(1, $);
        return it.was_notified_elsewhere();
    }

    void thread(unsigned me) {
        if (me == 0) {
            bool was_woken = false;
            for (int i = 0; i < 2 && !was_woken; ++i) was_woken = poll();
            if (!was_woken) was_woken = it.sleep(never);
            RL_ASSERT(was_woken && message == 1);
        } else {
            message = 1;
            if (it.notify()) fetched.store(1, release);
        }
    }
};

}  // namespace

int main() {
    const bool ok = check<woken>("one wake, one sleep", all) &&                 //
                    check<timed>("a sleep with a deadline", all) &&             //
                    check<naps>("naps, then sleep", all) &&                     //
                    check<elsewhere>("a sleep elsewhere", all) &&               //
                    check<twice>("a wake that comes late", switches(5)) &&      //
                    check<twice>("a wake that comes late", random(300'000)) &&  //
                    check<timed>("a sleep with a deadline", random(300'000));
    return ok ? 0 : 1;
}
