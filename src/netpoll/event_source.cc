// event_source.cc: see event_source.h.
#include "netpoll/event_source.h"

#include <cerrno>

#include "base/assert.h"
#include "netpoll/outside_poller.h"
#include "sched/scheduler.h"
#include "sched/switch.h"

namespace weft::detail {

namespace {

// Those that are or were in use.
constinit atomic<standing_source*> sources[standing_kinds]{};

void warn_of_loss(source_kind kind, int error) noexcept {
    warn(
        "no poller for %s (errno %d), so they are no longer handled; close some descriptors, or raise the limit: "
        "ulimit -n",
        kind == source_kind::signals ? "signals" : "detached child processes", error);
}

}  // namespace

// Holds moving_ over the system call, as poll_desc::add_to its lock.
int standing_source::watch(int fd) noexcept {
    moving_.lock();
    int error = 0;
    if (home_ == nullptr) {
        fd_ = fd;
        sources[static_cast<unsigned>(kind_)].store(this, release);  // pairs with readers that find it
        error = watch_locked(current_g_m() == nullptr);
    }
    moving_.unlock();
    return error;
}

int standing_source::watch_locked(bool outside) noexcept {
    M* m = outside ? nullptr : current_g_m();
    int error = 0;
    poll_backend* where = m != nullptr ? m->home->io.backend(*m->home, error) : outside_backend(error);
    if (where == nullptr) return error;
    error = where->add(fd_, token_of(kind_));
    if (error == 0) home_ = where;
    return error;
}

waiter* collect_standing(uint64_t token) noexcept {
    const auto kind = static_cast<unsigned>(kind_of(token));
    WEFT_ASSERT(kind < standing_kinds);
    standing_source* s = sources[kind].load(acquire);  // pairs with watch
    return s == nullptr ? nullptr : s->collect();
}

void move_standing_sources(const poll_backend& from) noexcept {
    for (atomic<standing_source*>& place : sources) {
        standing_source* s = place.load(acquire);  // pairs with watch
        if (s == nullptr) continue;
        s->moving_.lock();
        int error = 0;
        if (s->home_ == &from) {
            s->home_ = nullptr;
            if (s->is_wanted()) error = s->watch_locked(true);
        }
        s->moving_.unlock();
        if (error != 0) warn_of_loss(s->kind_, error);
    }
}

bool standing_source_is_awaited() noexcept {
    for (const atomic<standing_source*>& place : sources) {
        standing_source* s = place.load(acquire);  // pairs with watch
        if (s != nullptr && s->is_awaited()) return true;
    }
    return false;
}

void forget_standing_sources() noexcept WEFT_NO_THREAD_SAFETY_ANALYSIS {
    for (atomic<standing_source*>& place : sources) {
        standing_source* s = place.load(relaxed_alone);
        if (s == nullptr) continue;
        s->moving_.reset_after_fork();
        s->home_ = nullptr;
        s->forget();
        s->fd_ = -1;
    }
}

}  // namespace weft::detail
