// sync.cc: the untyped slow paths of counts and channels.
#include <exception>
#include <new>

#include <weft/detail/chan_state.h>
#include <weft/detail/count_word.h>
#include <weft/detail/step.h>
#include <weft/future.h>
#include <weft/time.h>

#include "base/abandoned.h"
#include "base/assert.h"

namespace weft {

namespace detail {

void fatal_count(int64_t count, int64_t change) noexcept {
    if (count + change < 0) {
        fatal("negative weft::wait_group count: %lld was subtracted from %lld; call done() once for each add()",
              static_cast<long long>(-change), static_cast<long long>(count));
    }
    fatal("weft::wait_group count too large: %lld was added to %lld; look for add() without done()",
          static_cast<long long>(change), static_cast<long long>(count));
}

void chan_destroyed_while_waited_on() noexcept {
    if (abandoned::may_be(true)) return;
    fatal(
        "the last handle of a weft::chan was destroyed while a thread waited on it; give each green thread its own "
        "copy");
}

void check_group_destroyed(uint32_t count, bool waited_on) noexcept {
    if (abandoned::may_be(waited_on)) return;
    fatal("a weft::wait_group was destroyed while its count was %u; call wait() first", count);
}

void chan_close(chan_core* core) {
    if (core == nullptr) fatal("close of a nil weft::chan, which cannot be closed; make the channel first");
    step(operation::chan_close, core);
    core->lock.lock();
    if (core->closed) {
        core->lock.unlock();
        fatal("close of a closed weft::chan; let only one sender close it");
    }
    core->closed = true;
    waiter* receivers = core->receivers.pop_all_claimed();
    waiter* senders = core->senders.pop_all_claimed();
    core->lock.unlock();
    // ok stays false: closed.
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
    const wait_result result =
        wait_cancellable(lock, {.me = me, .queue = nobody, .bits = 0, .reason = reason, .deadline_ns = deadline_ns});
    if (result == wait_result::served)
        fatal("a wait that no thread can end has ended: memory was overwritten, or this is a bug in weft");
    return chan_interrupted(result, interrupted);
}

void throw_chan_too_large() { throw std::bad_array_new_length(); }

}  // namespace detail

}  // namespace weft
