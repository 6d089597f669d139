// g_pool.cc: see g_pool.h.
#include "sched/g_pool.h"

#include <algorithm>
#include <new>
#include <utility>

#include "base/assert.h"
#include "os/os.h"
#include "os/vmem.h"
#include "sched/debugger.h"
#include "sched/freeze.h"

namespace weft::detail {

namespace {

constexpr uint32_t retired_at_once = 64;  // per hold of the lock; a cache miss each

}  // namespace

std::size_t g_pool::unit_size() noexcept { return std::max(smallest_unit, os::page_size()); }

uint32_t g_pool::units_in_chunk() noexcept { return static_cast<uint32_t>(chunk_size / unit_size()); }

uint32_t g_pool::gs_in_unit() noexcept { return static_cast<uint32_t>(unit_size() / sizeof(G)); }

g_pool::chunk* g_pool::chunk_of(const G* g) noexcept {
    return reinterpret_cast<chunk*>(reinterpret_cast<uintptr_t>(g) & ~(chunk_size - 1));
}

// Maps twice the size, keeps an aligned half. nullptr: out of address space.
g_pool::chunk* g_pool::map_chunk() noexcept {
    auto* mapping = static_cast<std::byte*>(os::map_pages(2 * chunk_size, true));
    if (mapping == nullptr) return nullptr;
    const std::size_t before = -reinterpret_cast<uintptr_t>(mapping) & (chunk_size - 1);
    auto* c = ::new (mapping + before) chunk;
    c->mapping = mapping;
    c->mapping_size = 2 * chunk_size;
    if (before == 0 || os::release_pages(mapping, before) == 0) {
        c->mapping = c;
        c->mapping_size -= before;
    }
    const std::size_t behind = chunk_size - before;
    if (os::release_pages(mapping + before + chunk_size, behind) == 0) c->mapping_size -= behind;
    c->first_unit = static_cast<uint32_t>((sizeof(chunk) + unit_size() - 1) / unit_size());
    c->blank = units_in_chunk() - c->first_unit;
    may_hold_pointers(c, chunk_size);
    is_internal(c, chunk_size);
    return c;
}

g_pool::~g_pool() {
    for (chunk* c = chunks_.load(relaxed_alone); c != nullptr;) {
        chunk* next = c->next.load(relaxed_alone);
        holds_no_pointers(c, chunk_size);
        os::unmap_pages(c->mapping, c->mapping_size);
        c = next;
    }
}

void g_pool::append_locked(chunk* c) noexcept {
    (last_ != nullptr ? last_->next : chunks_).store(c, release);  // R2
    last_ = c;
}

fifo<G> g_pool::take(uint32_t n) noexcept {
    fifo<G> batch;
    lock_.lock();
    move_front(depot_, batch, n);
    unused_.fell_to(depot_.size());
    if (batch.empty() && retired_ != 0) take_retired_locked(n, batch);
    lock_.unlock();
    return batch;
}

// Oldest chunks first, so that used Gs gather there.
void g_pool::take_retired_locked(uint32_t n, fifo<G>& into) noexcept {
    chunk* c = taking_;
    for (; n != 0 && retired_ != 0; c = c->next.load(relaxed_locked)) {
        taking_ = c;
        for (uint32_t u = c->first_unit; c->retired != 0 && n != 0; ++u) {
            if (c->units[u].in_hand) continue;
            lifo<G>& from = c->units[u].retired;
            const uint32_t before = from.size();
            move_front(from, into, n);
            const uint32_t taken = before - from.size();
            c->retired -= taken;
            retired_ -= taken;
            n -= taken;
        }
    }
}

bool g_pool::give(fifo<G>& batch) noexcept {
    lock_.lock();
    depot_.take_all(batch);
    const bool tell = !std::exchange(watched_, true);
    lock_.unlock();
    return tell;
}

g_pool::chunk* g_pool::with_blank_locked() noexcept {
    chunk* c = filling_;
    while (c != nullptr && c->blank == 0) c = c->next.load(relaxed_locked);
    return filling_ = c;
}

// The caller has unit u in hand.
void g_pool::fill_unit(chunk& c, uint32_t u, fifo<G>& into) noexcept {
    const bool was_used = std::exchange(c.units[u].was_used, true);
    G* gs = c.gs_of(u);
    for (uint32_t i = 0; i < gs_in_unit(); ++i) {
        G* g = was_used ? gs + i : ::new (gs + i) G;  // I2: already a G, which a thread may be reading
        g->state.store(g_state::dead, relaxed);       // relaxed: R1
        into.push_back(g);
    }
    c.units[u].shown.store(true, release);  // R1
}

bool g_pool::try_add_block() noexcept {
    const uint32_t wanted = std::max<uint32_t>(block_size / gs_in_unit(), 1);
    uint32_t taken[block_size];
    uint32_t n = 0;
    lock_.lock();
    chunk* c = with_blank_locked();
    if (c == nullptr) {
        lock_.unlock();
        c = map_chunk();
        if (c == nullptr) return false;
        lock_.lock();
        append_locked(c);
        if (filling_ == nullptr) filling_ = c;
    }
    for (uint32_t u = c->first_unit; n < wanted && c->blank != 0; ++u) {
        unit& one = c->units[u];
        if (one.in_hand || one.shown.load(relaxed_locked)) continue;
        one.in_hand = true;
        --c->blank;
        taken[n++] = u;
    }
    lock_.unlock();
    fifo<G> fresh;
    for (uint32_t i = 0; i < n; ++i) fill_unit(*c, taken[i], fresh);
    lock_.lock();
    for (uint32_t i = 0; i < n; ++i) c->units[taken[i]].in_hand = false;
    depot_.take_all(fresh);
    lock_.unlock();
    return true;
}

const G* g_pool::find(const void* at) const noexcept {
    for (chunk* c = chunks_.load(acquire); c != nullptr; c = c->next.load(acquire)) {          // A2
        const auto offset = reinterpret_cast<uintptr_t>(at) - reinterpret_cast<uintptr_t>(c);  // huge if at is below c
        if (offset >= chunk_size) continue;
        const auto u = static_cast<uint32_t>(offset / unit_size());
        return u >= c->first_unit && c->units[u].shown.load(acquire) ? static_cast<const G*>(at) : nullptr;  // A1
    }
    return nullptr;
}

void g_pool::retire_locked(uint32_t most) noexcept {
    surplus_ = std::min(surplus_, depot_.size());
    if (surplus_ == 0) return;
    taking_ = chunks_.load(relaxed_locked);
    for (; surplus_ != 0 && most != 0; --surplus_, --most) {
        G* g = depot_.pop();
        __builtin_prefetch(g->behind);
        chunk* c = chunk_of(g);
        const auto offset = reinterpret_cast<uintptr_t>(g) - reinterpret_cast<uintptr_t>(c);
        c->units[offset / unit_size()].retired.push(g);
        c->ripe = true;
        ++c->retired;
        ++retired_;
    }
    unused_.fell_to(depot_.size());
}

// Discards the fully retired units of c. Returns the bytes.
uint64_t g_pool::discard_retired(chunk& c) noexcept {
    uint32_t whole[most_units];
    uint32_t count = 0;
    lock_.lock();
    c.ripe = false;
    for (uint32_t u = c.first_unit; u < units_in_chunk(); ++u) {
        unit& one = c.units[u];
        if (one.in_hand || one.retired.size() != gs_in_unit()) continue;
        one.in_hand = true;
        one.shown.store(false, relaxed);  // relaxed: a late reader finds dead Gs or zeros
        c.retired -= one.retired.size();
        retired_ -= one.retired.size();
        whole[count++] = u;
    }
    lock_.unlock();
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < count;) {
        uint32_t n = 1;
        while (i + n < count && whole[i + n] == whole[i] + n) ++n;
        freezing.lock();
        const bool done =
            os::discard_read_pages(c.gs_of(whole[i]), n * unit_size());  // else they stay dead Gs or zeros
        freezing.unlock();
        put_back(c, whole + i, n);
        if (done) bytes += n * unit_size();
        i += n;
    }
    return bytes;
}

void g_pool::put_back(chunk& c, const uint32_t* units, uint32_t n) noexcept {
    lock_.lock();
    for (uint32_t i = 0; i < n; ++i) {
        unit& one = c.units[units[i]];
        one.in_hand = false;
        one.retired = {};
    }
    c.blank += n;
    filling_ = chunks_.load(relaxed_locked);
    lock_.unlock();
}

trimming g_pool::trim(uint32_t most) noexcept {
    trimming done;
    done.more = true;
    if (trims_now_.exchange(true, acquire)) return done;  // pairs with the release below
    lock_.lock();
    if (!std::exchange(in_round_, true)) surplus_ = static_cast<uint32_t>(unused_.lowest());
    uint32_t left = most;
    while (left >= retired_at_once && std::min(surplus_, depot_.size()) != 0) {
        retire_locked(retired_at_once);
        left -= retired_at_once;
        lock_.unlock();  // lets waiting threads in
        lock_.lock();
    }
    chunk* ripe = nullptr;
    if (std::min(surplus_, depot_.size()) == 0) {
        ripe = chunks_.load(relaxed_locked);
        while (ripe != nullptr && !ripe->ripe) ripe = ripe->next.load(relaxed_locked);
        done.more = ripe != nullptr;
    }
    if (!done.more) {
        in_round_ = false;
        unused_.restart(depot_.size());
        done.over = depot_.empty();
        if (done.over && trims_) watched_ = false;
    }
    lock_.unlock();
    if (ripe != nullptr) done.bytes = discard_retired(*ripe);
    trimmed_bytes_.fetch_add(done.bytes, relaxed_count);
    trims_now_.store(false, release);  // pairs with the acquire above
    return done;
}

}  // namespace weft::detail
