// poll_desc.cc: see poll_desc.h.
#include "poll/poll_desc.h"

#include <unistd.h>

#include <cerrno>
#include <new>

#include "base/assert.h"

namespace weft::detail {

namespace {

// All descriptors, in blocks that are made when one of their numbers is first used.
constexpr uint32_t block_size = 64;
constexpr uint32_t blocks_max = uint32_t{1} << 18;  // for 16 million files

struct block {
    poll_desc of[block_size];
};

constinit atomic<block*> blocks[blocks_max]{};
constinit atomic<uint32_t> blocks_reach{0};  // none is beyond

// Calls f with each that has been made.
template <typename F>
void for_each_desc(F f) noexcept {
    const uint32_t reach = blocks_reach.load(acquire);  // pairs with of
    for (uint32_t i = 0; i < reach; ++i) {
        block* b = blocks[i].load(acquire);  // as above
        if (b == nullptr) continue;
        for (poll_desc& d : b->of) f(d);
    }
}

}  // namespace

poll_desc* poll_desc::of(int fd) noexcept {
    const auto number = static_cast<uint32_t>(fd);
    if (fd < 0 || number / block_size >= blocks_max) return nullptr;
    atomic<block*>& place = blocks[number / block_size];
    block* b = place.load(acquire);  // pairs with the exchange
    if (b == nullptr) [[unlikely]] {
        auto* made = new (std::nothrow) block;
        if (made == nullptr) return nullptr;
        for (uint32_t i = 0; i < block_size; ++i) {
            made->of[i].fd_ = static_cast<int>(number - number % block_size + i);
        }
        if (place.compare_exchange_strong(b, made, acq_rel, acquire)) {  // pairs with those who find it
            b = made;
            uint32_t reach = blocks_reach.load(relaxed);  // relaxed: the exchange decides
            const uint32_t wanted = number / block_size + 1;
            // acq_rel: pairs with for_each_desc
            while (reach < wanted && !blocks_reach.compare_exchange_weak(reach, wanted, acq_rel, relaxed)) {}
        } else {
            delete made;
        }
    }
    return &b->of[number % block_size];
}

bool poll_desc::any() noexcept { return blocks_reach.load(relaxed) != 0; }  // relaxed: who waits has made one before

uint64_t poll_desc::token() const noexcept {
    return uint64_t{generation_of(word_.load(relaxed))} << generation_shift |  // relaxed: by a user
           static_cast<uint32_t>(fd_);
}

// A new generation begins, with flags, and the caller uses it. 0: it does not, because it was to begin only_unused, and somebody was faster.
uint32_t poll_desc::begin(uint64_t flags, bool only_unused) noexcept {
    registering_.lock();
    const uint32_t in_bits = in.word_.lock_bits();
    const uint32_t out_bits = out.word_.lock_bits();
    if (only_unused && (word_.load(relaxed) & unused) == 0) {  // relaxed: locked, as far as that bit goes
        out.word_.unlock_bits(out_bits);
        in.word_.unlock_bits(in_bits);
        registering_.unlock();
        return 0;
    }
    remove_locked();  // I2: somebody who waited for the file before
    waiter* readers = in.renew_locked();
    waiter* writers = out.renew_locked();
    uint64_t word = word_.load(relaxed);  // relaxed: the exchange decides
    uint64_t next = 0;
    do {
        next = (uint64_t{generation_of(word)} + 1) << generation_shift | flags | ((word & users_mask) + 1);
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
    uint64_t word = word_.load(relaxed);  // relaxed: the exchange decides
    do {
        if (generation_of(word) != generation || (word & closing) != 0) [[unlikely]]
            return false;
    } while (!word_.compare_exchange_weak(word, word + 1, acquire, relaxed));  // A2; relaxed: tried again
    return true;
}

void poll_desc::leave() noexcept {
    const uint64_t word = word_.fetch_sub(1, acq_rel);  // R2, A2
    const bool last = (word & users_mask) == 1;
    if (last && (word & (closing | borrowed)) != 0 && (word & unused) == 0) [[unlikely]]
        finish(word - 1);
}

// The last user has left one that is being closed, or was borrowed, and its word was this then.
void poll_desc::finish(uint64_t word) noexcept {
    if (end_at(word) && (word & borrowed) == 0) ::close(fd_);
}

// Frees it, and takes it off its poller, if its word still is this.
bool poll_desc::end_at(uint64_t word) noexcept {
    const uint64_t freed = uint64_t{generation_of(word)} << generation_shift | closing | unused;
    registering_.lock();
    const uint32_t in_bits = in.word_.lock_bits();
    const uint32_t out_bits = out.word_.lock_bits();
    const bool ended = word_.compare_exchange_strong(word, freed, acq_rel, relaxed);  // A2; relaxed: somebody uses it
    out.word_.unlock_bits(out_bits);
    in.word_.unlock_bits(in_bits);
    if (ended) remove_locked();
    registering_.unlock();
    return ended;
}

void poll_desc::remove_locked() noexcept {
    if (poll_backend* where = home_.load(relaxed)) where->remove(fd_);  // relaxed: locked
    home_.store(nullptr, relaxed);                                      // relaxed: as above
}

bool poll_desc::close(uint32_t generation) noexcept {
    uint64_t word = word_.load(relaxed);  // relaxed: the exchange decides
    do {
        if (generation_of(word) != generation || (word & closing) != 0) return false;
    } while (!word_.compare_exchange_weak(word, word | closing, acq_rel, relaxed));  // R2; relaxed: tried again
    in.wake_all();
    out.wake_all();
    leave();
    return true;
}

int poll_desc::detach(uint32_t generation) noexcept {
    return end_at(uint64_t{generation} << generation_shift | 1) ? fd_ : -1;
}

uint32_t poll_desc::borrow() noexcept {
    uint64_t word = word_.load(relaxed);  // relaxed: the exchange decides
    for (;;) {
        if ((word & unused) != 0) {
            if (const uint32_t generation = begin(borrowed, true)) return generation;
            word = word_.load(relaxed);  // relaxed: as above
        } else if ((word & closing) != 0) {
            return 0;
        } else if (word_.compare_exchange_weak(word, word + 1, acq_rel, relaxed)) {  // A2; relaxed: tried again
            return generation_of(word);
        }
    }
}

int poll_desc::add_to(poll_backend& where) noexcept {
    registering_.lock();
    int error = 0;
    if (home_.load(relaxed) == nullptr) {  // relaxed: locked
        error = where.add(fd_, token());
        if (error == EEXIST) {  // another file that had this number, and lives on, was added under an old token
            where.remove(fd_);
            error = where.add(fd_, token());
        }
        if (error == 0) home_.store(&where, relaxed);  // relaxed: locked
    }
    registering_.unlock();
    return error;
}

waiter* poll_desc::deliver(const poll_event& event) noexcept {
    const auto number = static_cast<uint32_t>(event.token);
    const auto generation = static_cast<uint32_t>(event.token >> generation_shift);
    poll_desc* d = of(static_cast<int>(number));
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
    for_each_desc([&](poll_desc& d) {
        d.registering_.lock();
        const bool was_there = d.home_.load(relaxed) == &where;  // relaxed: locked
        if (was_there) d.home_.store(nullptr, relaxed);          // relaxed: as above
        d.registering_.unlock();
        if (!was_there) return;
        d.in.wake_all();
        d.out.wake_all();
    });
}

void poll_desc::forget_all() noexcept {
    for_each_desc([](poll_desc& d) {
        d.registering_.unlock();
        d.home_.store(nullptr, relaxed);  // relaxed: there is no other thread, here and below
        d.in.forget_waiters();
        d.out.forget_waiters();
        const uint64_t word = d.word_.load(relaxed);  // relaxed: as above
        if ((word & unused) != 0) return;
        if ((word & (closing | borrowed)) == 0) {
            d.word_.store((word & ~users_mask) | 1, relaxed);  // relaxed: as above
            return;
        }
        // relaxed: as above
        d.word_.store(uint64_t{generation_of(word)} << generation_shift | closing | unused, relaxed);
        if ((word & borrowed) == 0) ::close(d.fd_);
    });
}

}  // namespace weft::detail
