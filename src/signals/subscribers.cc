// subscribers.cc: see subscribers.h.
#include "signals/subscribers.h"

#include <utility>

#include "lifecycle/fork.h"
#include "os/caught_signals.h"
#include "os/fd_calls.h"

namespace weft::detail {

namespace {

template <typename F>
void for_each_signal(uint64_t signals, F f) noexcept {
    for (int signal = 1; signal <= os::signals_max; ++signal) {
        if ((signals >> (signal - 1) & 1) != 0) f(signal);
    }
}

}  // namespace

constinit atomic<uint64_t> signal_source::pending{0};
constinit atomic<int> signal_source::event{-1};

// Not destroyed: a handler may run at any time.
signal_source& signal_source::the() {
    static auto* const it = new signal_source;
    return *it;
}

void signal_source::arrived(int signal) noexcept {
    pending.fetch_or(uint64_t{1} << (signal - 1), release);              // R1
    if (const int fd = event.load(relaxed); fd >= 0) os::event_set(fd);  // relaxed: opened before the handler exists
}

// Returns the descriptor, or minus errno's value.
int signal_source::open() noexcept {
    const int there = event.load(relaxed);  // relaxed: a descriptor, which needs no other memory
    if (there >= 0) return there;
    install_fork_handler();
    const int made = os::event_make();
    if (made < 0) return made;
    int none = -1;
    if (event.compare_exchange_strong(none, made, relaxed)) return made;  // relaxed: as above
    os::fd_close(made);
    return none;
}

uint64_t signal_source::all_wanted_locked() const noexcept {
    uint64_t all = 0;
    for (const signal_subscriber* s = first_; s != nullptr; s = s->next) all |= s->wanted;
    return all;
}

// Establishes I1. Its system calls are made under the lock: they do not block, and are rare.
int signal_source::catch_locked(uint64_t wanted) noexcept {
    int error = 0;
    for_each_signal((caught_ & ~wanted) | (ignored_ & wanted), [&](int signal) { os::release_signal(signal); });
    ignored_ &= ~wanted;
    for_each_signal(wanted & ~caught_, [&](int signal) {
        if (const int e = os::catch_signal(signal, &signal_source::arrived)) error = e;
    });
    caught_ = wanted;
    return error;
}

// S3. Under the lock, because another thread could remove a subscriber before it is offered the
// signal.
void signal_source::deliver_locked() noexcept {
    const uint64_t taken = pending.exchange(0, acquire);  // A1
    if (taken == 0) return;
    for (const signal_subscriber* s = first_; s != nullptr; s = s->next) {
        for_each_signal(taken & s->wanted, [&](int signal) {
            static_cast<void>(s->channel.try_send(std::move(signal)));  // NOLINT: full: dropped
        });
    }
}

int signal_source::add(signal_subscriber& s) noexcept {
    const int fd = open();
    if (fd < 0) return -fd;
    lock_.lock();
    deliver_locked();  // what was caught earlier is not for s
    s.linked = true;
    s.next = first_;
    first_ = &s;
    lock_.unlock();
    int error = watch(fd);  // first: caught signals must be noticed
    if (error == 0) {
        lock_.lock();
        error = catch_locked(all_wanted_locked());
        lock_.unlock();
    }
    if (error != 0) remove(s);
    return error;
}

void signal_source::remove(signal_subscriber& s) noexcept {
    lock_.lock();
    if (s.linked) {
        signal_subscriber** link = &first_;
        while (*link != &s) link = &(*link)->next;
        // In this order, so that no caught signal is lost (I2).
        const uint64_t leaving = std::exchange(s.wanted, 0);
        static_cast<void>(catch_locked(all_wanted_locked()));  // cannot fail: it only releases
        s.wanted = leaving;
        deliver_locked();
        *link = s.next;
        s.linked = false;
    }
    lock_.unlock();
}

int signal_source::take_back(uint64_t signals, bool then_ignored) noexcept {
    int error = 0;
    lock_.lock();
    static_cast<void>(catch_locked(all_wanted_locked() & ~signals));  // in the order of remove
    deliver_locked();
    for (signal_subscriber* s = first_; s != nullptr; s = s->next) s->wanted &= ~signals;
    for_each_signal(signals & ignored_, [](int signal) { os::release_signal(signal); });
    ignored_ &= ~signals;
    if (then_ignored) {
        for_each_signal(signals, [&](int signal) {
            if (const int e = os::ignore_signal(signal)) error = e;
        });
        ignored_ |= signals;
    }
    lock_.unlock();
    return error;
}

bool signal_source::is_awaited() noexcept {
    bool awaited = false;
    lock_.lock();
    for (const signal_subscriber* s = first_; s != nullptr && !awaited; s = s->next) {
        chan_state<int>& c = *chan_access::state(s->channel);
        c.lock.lock();
        awaited = s->wanted != 0 && !c.receivers.empty();
        c.lock.unlock();
    }
    lock_.unlock();
    return awaited;
}

waiter* signal_source::collect() noexcept {
    const int fd = event.load(relaxed);  // relaxed: as in open
    if (fd < 0) return nullptr;
    os::event_clear(fd);                             // S2
    if (pending.load(relaxed) == 0) return nullptr;  // relaxed: deliver_locked reads it again
    lock_.lock();
    deliver_locked();
    lock_.unlock();
    return nullptr;
}

bool signal_source::is_wanted() noexcept {
    lock_.lock();
    const bool wanted = first_ != nullptr;
    lock_.unlock();
    return wanted;
}

// In the child of a fork: the descriptor is the parent's.
void signal_source::forget() noexcept WEFT_NO_THREAD_SAFETY_ANALYSIS {
    lock_.reset_after_fork();
    for (signal_subscriber* s = first_; s != nullptr; s = s->next) s->linked = false;
    first_ = nullptr;
    for_each_signal(caught_ | ignored_, [](int signal) { os::release_signal(signal); });
    caught_ = 0;
    ignored_ = 0;
    pending.store(0, relaxed_alone);
    if (const int fd = event.exchange(-1, relaxed_alone); fd >= 0) os::fd_close(fd);
}

}  // namespace weft::detail
