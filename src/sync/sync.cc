// sync.cc: the untyped slow paths of spin locks, counts and channels.
#include <algorithm>
#include <cstdio>
#include <exception>
#include <new>

#include <weft/detail/chan_state.h>
#include <weft/detail/count_word.h>
#include <weft/future.h>
#include <weft/time.h>

#include "base/abandoned.h"
#include "base/assert.h"
#include "os/os.h"
#include "sched/generation.h"

namespace weft {

namespace detail {

namespace {

constexpr uint32_t pauses_before_yield = 64;
constexpr uint32_t yields_before_sleep = 128;
constexpr int64_t lock_sleep_ns = 50'000;
// The length doubles every few naps, up to 0.8 ms: many napping threads on few CPUs must let the
// lock's holder run.
constexpr uint32_t naps_of_a_length = 4;
constexpr uint32_t doublings_max = 4;
constexpr uint32_t hopeless_in_child = 1'400;  // in the child of fork the holder is gone; about 1 s

}  // namespace

void spin_backoff(uint32_t attempt) noexcept {
    if (attempt < pauses_before_yield) {
        const uint32_t pauses = attempt < 4 ? 1U << attempt : 16;
        for (uint32_t i = 0; i < pauses; ++i) os::cpu_relax();
    } else if (attempt < yields_before_sleep) {
        os::yield_thread();
    } else {
        if (attempt > hopeless_in_child && fork_generation.load(relaxed) != 0)  // relaxed: only fork changes it
            fatal_in_child("an object that a thread of the parent had locked was");
        os::sleep_ns(lock_sleep_ns << std::min((attempt - yields_before_sleep) / naps_of_a_length, doublings_max));
    }
}

void fatal_count(int64_t count, int64_t change) noexcept {
    if (count + change < 0) {
        fatal("negative weft::wait_group count: %lld was taken off %lld; done() was called more often than add()",
              static_cast<long long>(-change), static_cast<long long>(count));
    }
    fatal("weft::wait_group count too large: %lld added to %lld", static_cast<long long>(change),
          static_cast<long long>(count));
}

void chan_destroyed_while_waited_on() noexcept {
    if (abandoned::may_be(true)) return;
    fatal(
        "the last handle of a weft::chan was destroyed while it was waited on; give each green thread a handle of its "
        "own");
}

void check_group_destroyed(uint32_t count, bool waited_on) noexcept {
    if (abandoned::may_be(waited_on)) return;
    fatal("a weft::wait_group was destroyed while its count was %u; wait() for the work first", count);
}

void chan_close(chan_core* core) {
    if (core == nullptr) fatal("close of a nil weft::chan");
    core->lock.lock();
    if (core->closed) {
        core->lock.unlock();
        fatal("close of a closed weft::chan");
    }
    core->closed = true;
    waiter* receivers = core->receivers.pop_all_claimed();
    waiter* senders = core->senders.pop_all_claimed();
    core->lock.unlock();
    // ok stays false, which means closed.
    ready_all(receivers);
    ready_all(senders);
}

chan_status chan_interrupted(wait_result result, wait_result* interrupted) {
    if (result == wait_result::timed_out) return chan_status::timed_out;
    if (interrupted == nullptr) throw_interrupted(result);
    *interrupted = result;
    return chan_status::timed_out;
}

chan_status nil_wait(wait_reason reason, int64_t deadline_ns, wait_result* interrupted) {
    if (deadline_ns == 0) return chan_status::would_block;
    wait_queue nobody;
    spin_lock lock;
    waiter me;
    lock.lock();
    const wait_result result = wait_cancellable(me, nobody, lock, 0, reason, deadline_ns);
    if (result == wait_result::served) fatal("a wait that nothing can end has ended");
    return chan_interrupted(result, interrupted);
}

void throw_chan_too_large() { throw std::bad_array_new_length(); }

}  // namespace detail

}  // namespace weft
