// poll_table.cc: all poll_desc of the process, by file number.
//
// Blocks are allocated on first use and never freed, so pointers into them stay valid.
//
// See: poll_desc.h
#include <new>

#include "netpoll/poll_desc.h"

namespace weft::detail {

namespace {

constexpr uint32_t block_size = 64;
constexpr uint32_t blocks_max = uint32_t{poll_desc::numbers_end} / block_size;

struct block {
    poll_desc of[block_size];
};

constinit atomic<block*> blocks[blocks_max]{};
constinit atomic<uint32_t> blocks_reach{0};  // all blocks lie below

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
        if (place.compare_exchange_strong(b, made, acq_rel, acquire)) {  // pairs with the loads that find it
            b = made;
            uint32_t reach = blocks_reach.load(relaxed_cas);
            const uint32_t wanted = number / block_size + 1;
            // acq_rel: pairs with from
            while (reach < wanted && !blocks_reach.compare_exchange_weak(reach, wanted, acq_rel, relaxed)) {}
        } else {
            delete made;
        }
    }
    return &b->of[number % block_size];
}

poll_desc* poll_desc::existing(int fd) noexcept {
    const auto number = static_cast<uint32_t>(fd);
    if (fd < 0 || number / block_size >= blocks_max) return nullptr;
    block* b = blocks[number / block_size].load(acquire);  // pairs with of
    return b == nullptr ? nullptr : &b->of[number % block_size];
}

poll_desc* poll_desc::from(int fd) noexcept {
    auto number = static_cast<uint32_t>(fd);
    const uint32_t reach = blocks_reach.load(acquire);  // pairs with of
    for (uint32_t i = number / block_size; i < reach; ++i) {
        if (block* b = blocks[i].load(acquire)) return &b->of[number % block_size];  // as above
        number = 0;
    }
    return nullptr;
}

bool poll_desc::is_owned(int fd) noexcept {
    const poll_desc* d = existing(fd);
    // relaxed: a hint; its owner has opened it before
    return d != nullptr && (d->word_.load(relaxed) & (closing | unused | borrowed)) == 0;
}

bool poll_desc::any() noexcept { return blocks_reach.load(relaxed) != 0; }  // relaxed: a waiter has made one before

constinit atomic<uint32_t> poll_desc::forks_{0};

void poll_desc::forget_all() noexcept {
    forks_.fetch_add(1, relaxed_alone);
    for (poll_desc* d = from(0); d != nullptr; d = from(d->fd_ + 1)) d->forget();
}

void poll_desc::forget_simulated(int first, int count) noexcept {
    for (poll_desc* d = from(first); d != nullptr && d->fd_ < first + count; d = from(d->fd_ + 1)) d->forget();
}

}  // namespace weft::detail
