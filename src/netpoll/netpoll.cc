// netpoll.cc: see netpoll.h.
#include "netpoll/netpoll.h"

#include <cerrno>
#include <span>
#include <utility>

#include "os/os.h"
#include "os/probe.h"
#include "sched/park.h"
#include "sched/schedule.h"
#include "sched/scheduler.h"

namespace weft::detail {

poll_backend* netpoll::backend(scheduler& s, int& error) noexcept {
    poll_backend* where = open();
    if (where != nullptr) [[likely]]
        return where;
    std::unique_ptr<poll_backend> made = make_poll_backend();
    error = made == nullptr ? ENOMEM : made->open();
    if (error != 0) return nullptr;
    opening_.lock();
    where = backend_.load(relaxed_locked);
    const bool first = where == nullptr;
    if (first) {
        where = made.release();
        backend_.store(where, release);  // pairs with open
    }
    opening_.unlock();
    if (first) wake_to_look(s);
    return where;
}

int netpoll::add(scheduler& s, poll_desc& d) noexcept {
    if (d.home() != nullptr) return 0;
    int error = 0;
    poll_backend* where = backend(s, error);
    return where == nullptr ? error : d.add_to(*where);
}

event_source* netpoll::make_files(scheduler& s, std::unique_ptr<event_source> (*make)(int& fd) noexcept) noexcept {
    int error = 0;
    int fd = -1;
    std::unique_ptr<event_source> made;
    poll_backend* where = backend(s, error);
    if (where != nullptr) {
        made = make(fd);
        if (made != nullptr && where->add(fd, token_of(source_kind::files)) != 0) made.reset();
    }
    opening_.lock();
    if (!files_asked_.load(relaxed_locked)) {
        files_.store(made.release(), relaxed);  // relaxed: published by the next
        files_asked_.store(true, release);      // pairs with files
    }
    opening_.unlock();
    if (where != nullptr && made != nullptr) where->remove(fd);  // another thread was faster
    return files_.load(relaxed);                                 // relaxed: we have held the lock
}

waiter* netpoll::collect(uint64_t token) noexcept {
    if (kind_of(token) != source_kind::files) return collect_standing(token);
    event_source* source = files_asked_.load(acquire) ? files_.load(relaxed) : nullptr;  // as files
    return source == nullptr ? nullptr : source->collect();
}

namespace {

// With a thousand busy connections, what an event leads to is in no cache: its descriptor, the
// waiter, the G, and its frames. So each is prefetched for a whole batch (docs/netpoll.md,
// measured).
void prefetch(std::span<const poll_event> events) noexcept {
    for (const poll_event& e : events) {
        if (!is_of_source(e.token)) poll_desc::prefetch(e);
    }
    for (const poll_event& e : events) {
        if (!is_of_source(e.token)) poll_desc::prefetch_waiter(e);
    }
}

}  // namespace

waiter* netpoll::poll(int64_t deadline_ns) noexcept {
    poll_event events[poll_batch];
    const uint32_t n = open()->wait(events, deadline_ns);
    polled_ns_.store(os::monotonic_ns(), relaxed);  // relaxed: a time
    prefetch({events, n});
    guarded<waiter*> first = nullptr;
    guarded<waiter*>* link = &first;
    for (uint32_t i = 0; i < n; ++i) {
        const uint64_t token = events[i].token;
        waiter* woken = is_of_source(token) ? collect(token) : poll_desc::deliver(events[i]);
        *link = woken;
        while (*link != nullptr) {
            if (const G* g = (*link)->g) prefetch_ready(g);
            link = &(*link)->next;
        }
    }
    return first;
}

waiter* netpoll::sleep_in(int64_t deadline_ns) noexcept {
    waiter* woken = poll(deadline_ns);
    // Linux 5.0 to 5.10 may wake, for an event, the thread whose timeout expires at that moment,
    // and then no other.
    if (woken == nullptr && polled_ns() >= deadline_ns) woken = poll(0);
    return woken;
}

void netpoll::abandon() noexcept {
    if (const poll_backend* where = open()) {
        poll_desc::abandon(*where);
        move_standing_sources(*where);
    }
}

void netpoll::close() noexcept {
    abandon();
    if (event_source* source = files_.exchange(nullptr, acq_rel)) {  // pairs with files; no thread asks again
        source->end();
        delete source;
    }
    delete backend_.exchange(nullptr, acq_rel);  // pairs with open; no thread adds again
}

[[gnu::cold]] static void record_poll(M* m, const waiter* chain) noexcept {
    uint64_t count = 0;
    for (; chain != nullptr; chain = chain->next) ++count;
    record_event(m, event_kind::poll, 0, count, 0);
}

void ready_polled(M* m, waiter* chain, int64_t now_ns) noexcept {
    WEFT_PROBE2(poll, m->index, chain);
    if (has_ring(m)) record_poll(m, chain);
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
