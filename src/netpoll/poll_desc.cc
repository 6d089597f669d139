// poll_desc.cc: see poll_desc.h.
#include "netpoll/poll_desc.h"

#include <algorithm>
#include <cerrno>
#include <cstddef>

#include "base/assert.h"
#include "netpoll/fd_calls.h"

namespace weft::detail {

uint64_t poll_desc::token() const noexcept {
    return uint64_t{generation_of(word_.load(relaxed))} << generation_shift |  // relaxed: by a user
           static_cast<uint32_t>(fd_);
}

namespace {

int number_of(uint64_t token) noexcept { return static_cast<int>(static_cast<uint32_t>(token)); }

}  // namespace

// Begins a new generation with flags and the caller as a user, and returns it. 0: only_unused was
// set, and another thread was faster.
uint32_t poll_desc::begin(uint64_t flags, bool only_unused) noexcept {
    registering_.lock();
    const uint32_t in_bits = in.word_.lock_bits();
    const uint32_t out_bits = out.word_.lock_bits();
    if (only_unused && (word_.load(relaxed) & unused) == 0) {  // relaxed: that bit changes under the lock
        out.word_.unlock_bits(out_bits);
        in.word_.unlock_bits(in_bits);
        registering_.unlock();
        return 0;
    }
    remove_locked();  // I2: a waiter may have added the file before
    waiter* readers = in.renew_locked();
    waiter* writers = out.renew_locked();
    uint64_t word = word_.load(relaxed_cas);
    uint64_t next = 0;
    do {
        const uint32_t generation = std::max(generation_of(word) + 1, 1U);  // 0 means no generation
        next = uint64_t{generation} << generation_shift | flags | ((word & users_mask) + 1);
    } while (!word_.compare_exchange_weak(word, next, acq_rel, relaxed));  // A2
    out.word_.unlock_bits((out_bits + poll_side::edge) & poll_side::edges_mask);
    in.word_.unlock_bits((in_bits + poll_side::edge) & poll_side::edges_mask);
    registering_.unlock();
    ready_all(readers);
    ready_all(writers);
    return generation_of(next);
}

uint32_t poll_desc::open() noexcept { return begin(0, false); }

bool poll_desc::enter(uint32_t generation) noexcept {
    uint64_t word = word_.load(relaxed_cas);
    do {
        if (generation_of(word) != generation || (word & closing) != 0) [[unlikely]]
            return false;
    } while (!word_.compare_exchange_weak(word, word + 1, acquire, relaxed));  // A2; relaxed: tried again
    return true;
}

void poll_desc::leave() noexcept {
    const uint64_t word = word_.fetch_sub(1, acq_rel);  // R2, A2
    WEFT_ASSERT((word & users_mask) != 0);
    const bool last = (word & users_mask) == 1;
    if (last && (word & (closing | borrowed)) != 0 && (word & (unused | kept)) == 0) [[unlikely]]
        finish(word - 1);
}

// The last user has left a closing or borrowed one, and the word was word.
void poll_desc::finish(uint64_t word) noexcept {
    if (end_at(word) && (word & borrowed) == 0) fds::fd_close(fd_);
}

// If its word is still word, frees it and removes it from its poller.
bool poll_desc::end_at(uint64_t word) noexcept {
    const uint64_t freed = uint64_t{generation_of(word)} << generation_shift | closing | unused;
    registering_.lock();
    const uint32_t in_bits = in.word_.lock_bits();
    const uint32_t out_bits = out.word_.lock_bits();
    const bool ended = word_.compare_exchange_strong(word, freed, acq_rel, relaxed);  // A2; relaxed: still in use
    out.word_.unlock_bits(out_bits);
    in.word_.unlock_bits(in_bits);
    if (ended) remove_locked();
    registering_.unlock();
    return ended;
}

void poll_desc::remove_locked() noexcept {
    if (poll_backend* where = home_.load(relaxed_locked)) where->remove(fd_);
    home_.store(nullptr, relaxed_locked);
}

bool poll_desc::close(uint32_t generation) noexcept {
    uint64_t word = word_.load(relaxed_cas);
    do {
        if (generation_of(word) != generation || (word & closing) != 0) return false;
    } while (!word_.compare_exchange_weak(word, word | closing, acq_rel, relaxed));  // R2; relaxed: tried again
    wake_all();
    leave();
    return true;
}

int poll_desc::detach(uint32_t generation) noexcept {
    return end_at(uint64_t{generation} << generation_shift | 1) ? fd_ : -1;
}

uint32_t poll_desc::borrow() noexcept {
    uint64_t word = word_.load(relaxed_cas);
    for (;;) {
        if ((word & unused) != 0) {
            if (const uint32_t generation = begin(borrowed, true)) return generation;
            word = word_.load(relaxed_cas);
        } else if ((word & closing) != 0) {
            return 0;
        } else if (word_.compare_exchange_weak(word, word + 1, acq_rel, relaxed)) {  // A2; relaxed: tried again
            if ((word & borrowed) != 0) add_again();
            return generation_of(word);
        }
    }
}

uint32_t poll_desc::borrow_kept() noexcept {
    uint64_t word = word_.load(relaxed_cas);
    for (;;) {
        if ((word & unused) != 0) {
            if (const uint32_t generation = begin(borrowed | kept, true)) return generation;
            word = word_.load(relaxed_cas);
        } else if ((word & closing) != 0) {
            return 0;
        } else {
            const uint64_t next = (word | ((word & borrowed) != 0 ? kept : 0)) + 1;
            if (word_.compare_exchange_weak(word, next, acq_rel, relaxed)) return generation_of(word);  // A2; as above
        }
    }
}

int poll_desc::add_anew(poll_backend& where) noexcept {
    registering_.lock();
    poll_backend* home = home_.load(relaxed_locked);
    if (home == nullptr) home = &where;
    int error = home->add(fd_, token());
    if (error == EEXIST && home_.load(relaxed_locked) == nullptr) {  // as in add_to
        home->remove(fd_);
        error = home->add(fd_, token());
    }
    if (error == EEXIST) error = 0;
    home_.store(error == 0 ? home : nullptr, relaxed_locked);
    registering_.unlock();
    return error;
}

bool poll_desc::renounce() noexcept {
    if (!is_borrowed()) return false;
    registering_.lock();
    const uint32_t in_bits = in.word_.lock_bits();
    const uint32_t out_bits = out.word_.lock_bits();
    uint64_t word = word_.load(relaxed_cas);
    uint64_t next = 0;
    do {
        if ((word & borrowed) == 0) {
            out.word_.unlock_bits(out_bits);
            in.word_.unlock_bits(in_bits);
            registering_.unlock();
            return false;
        }
        const uint64_t users = word & users_mask;
        const uint64_t flags = users == 0 ? closing | unused : borrowed;
        const uint32_t generation = std::max(generation_of(word) + 1, 1U);
        next = uint64_t{generation} << generation_shift | flags | users;
    } while (!word_.compare_exchange_weak(word, next, acq_rel, relaxed));  // A2
    remove_locked();
    waiter* readers = in.renew_locked();
    waiter* writers = out.renew_locked();
    out.word_.unlock_bits((out_bits + poll_side::edge) & poll_side::edges_mask);
    in.word_.unlock_bits((in_bits + poll_side::edge) & poll_side::edges_mask);
    registering_.unlock();
    ready_all(readers);
    ready_all(writers);
    return true;
}

void poll_desc::look_after_close() noexcept {
    const uint64_t word = latest();  // a waiter that begins later finds the file closed
    if ((word & borrowed) != 0 && (word & users_mask) != 0) wake_all();
}

// For another borrower: the owner may have closed the file, and a new one, not added yet, has its
// number.
void poll_desc::add_again() noexcept {
    registering_.lock();
    if (poll_backend* where = home_.load(relaxed_locked)) static_cast<void>(where->add(fd_, token()));
    registering_.unlock();
}

int poll_desc::add_to(poll_backend& where) noexcept {
    registering_.lock();
    int error = 0;
    if (home_.load(relaxed_locked) == nullptr) {
        error = where.add(fd_, token());
        if (error == EEXIST) {  // an earlier file with this number lives on, added under an old token
            where.remove(fd_);
            error = where.add(fd_, token());
        }
        if (error == 0) home_.store(&where, relaxed_locked);
    }
    registering_.unlock();
    return error;
}

void poll_desc::prefetch(const poll_event& event) noexcept {
    const auto* d = reinterpret_cast<const char*>(of(number_of(event.token)));
    for (std::size_t line = 0; line < sizeof(poll_desc); line += cache_line) __builtin_prefetch(d + line);
}

void poll_desc::prefetch_waiter(const poll_event& event) noexcept {
    const poll_desc* d = of(number_of(event.token));
    const bool reads = (event.what & (poll_bits::readable | poll_bits::hung_up)) != 0;
    (reads ? d->in : d->out).prefetch_waiter();
}

waiter* poll_desc::deliver(const poll_event& event) noexcept {
    const auto generation = static_cast<uint32_t>(event.token >> generation_shift);
    poll_desc* d = of(number_of(event.token));
    WEFT_ASSERT(d != nullptr);
    const bool hung_up = (event.what & poll_bits::hung_up) != 0;
    waiter* first = nullptr;
    if (hung_up || (event.what & poll_bits::readable) != 0) first = d->in.count_edge(d->word_, generation, hung_up);
    if (hung_up || (event.what & poll_bits::writable) != 0) {
        waiter* second = d->out.count_edge(d->word_, generation, hung_up);
        if (first == nullptr) return second;
        first->next = second;
    }
    return first;
}

void poll_desc::abandon(const poll_backend& where) noexcept {
    for (poll_desc* d = from(0); d != nullptr; d = from(d->fd_ + 1)) {
        d->registering_.lock();
        const bool was_there = d->home_.load(relaxed_locked) == &where;
        if (was_there) d->home_.store(nullptr, relaxed_locked);
        d->registering_.unlock();
        if (was_there) d->wake_all();
    }
}

void poll_desc::forget() noexcept {
    registering_.reset_after_fork();
    home_.store(nullptr, relaxed_alone);
    in.forget_waiters();
    out.forget_waiters();
    const uint64_t word = word_.load(relaxed_alone);
    if ((word & unused) != 0) return;
    if ((word & (closing | borrowed)) == 0) {
        word_.store((word & ~users_mask) | 1, relaxed_alone);
        return;
    }
    // relaxed: as above
    word_.store(uint64_t{generation_of(word)} << generation_shift | closing | unused, relaxed);
    if ((word & borrowed) == 0) fds::fd_close(fd_);
}

}  // namespace weft::detail
