// netpoll.cc: see netpoll.h.
#include "sched/netpoll.h"

#include <cerrno>
#include <utility>

#include "os/os.h"
#include "sched/park.h"
#include "sched/scheduler.h"

namespace weft::detail {

int netpoll::add(scheduler& s, poll_desc& d) noexcept {
    if (d.home() != nullptr) return 0;
    poll_backend* where = open();
    if (where == nullptr) [[unlikely]] {
        std::unique_ptr<poll_backend> made = make_poll_backend();
        if (made == nullptr) return ENOMEM;
        if (const int error = made->open()) return error;
        opening_.lock();
        where = backend_.load(relaxed);  // relaxed: locked
        const bool first = where == nullptr;
        if (first) {
            where = made.release();
            backend_.store(where, release);  // pairs with open
        }
        opening_.unlock();
        if (first) wake_to_look(s);
    }
    return d.add_to(*where);
}

waiter* netpoll::poll(int64_t deadline_ns) noexcept {
    poll_event events[poll_batch];
    const uint32_t n = open()->wait(events, deadline_ns);
    polled_ns_.store(os::monotonic_ns(), relaxed);  // relaxed: a time
    guarded<waiter*> first = nullptr;
    guarded<waiter*>* link = &first;
    for (uint32_t i = 0; i < n; ++i) {
        waiter* woken = poll_desc::deliver(events[i]);
        *link = woken;
        while (*link != nullptr) link = &(*link)->next;
    }
    return first;
}

void netpoll::abandon() noexcept {
    if (const poll_backend* where = open()) poll_desc::abandon(*where);
}

void netpoll::close() noexcept {
    abandon();
    delete backend_.exchange(nullptr, acq_rel);  // pairs with open; nobody adds any more
}

void ready_polled(M* m, waiter* chain, int64_t now_ns) noexcept {
    while (chain != nullptr) {
        waiter* w = std::exchange(chain, static_cast<waiter*>(chain->next));
        G* g = w->g;
        if (g == nullptr || g->home != m->home) {
            ready(*w);
        } else {
            ready_g_last(m, g, now_ns);
        }
    }
}

}  // namespace weft::detail
