// stack.cc: slabs, guards and the depot. See stack.h.
#include "stack/stack.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <memory>
#include <new>

#include "base/assert.h"
#include "os/commit.h"
#include "os/os.h"
#include "stack/slab.h"

namespace weft::detail {

namespace {

constexpr std::size_t smallest_large_class = 1024 * 1024;
constexpr uint32_t first_slab_slots = 256;
constexpr uint32_t largest_slab_slots = 4096;
constexpr uint32_t large_class_slots = 16;
constexpr uint32_t largest_growing_slab_slots = 1024;             // each has to be committed in part when it is mapped
constexpr std::size_t largest_counted_slab = 64UL * 1024 * 1024;  // of a larger class, where all of it counts as memory

// Mappings left to the rest of the process when mprotect has to guard stacks.
constexpr uint64_t mappings_kept_back = 8192;

constinit atomic<bool> region_refused{false};
constinit atomic<bool> write_protection_refused{false};
constinit atomic<int64_t> protections_left{-1};  // -1: not yet known
constinit atomic<bool> canary_warned{false};

int64_t protection_budget() noexcept {
    uint64_t limit = 65530;
    if (std::FILE* file = std::fopen("/proc/sys/vm/max_map_count", "re")) {
        unsigned long long value = 0;
        if (std::fscanf(file, "%llu", &value) == 1) limit = value;  // NOLINT(cert-err34-c): checked by the result
        std::fclose(file);
    }
    return limit > mappings_kept_back ? static_cast<int64_t>((limit - mappings_kept_back) / 2) : 0;
}

// Takes one mprotect guard from the process's budget.
bool take_protection() noexcept {
    int64_t left = protections_left.load(relaxed);  // relaxed: a budget, nothing is published by it
    if (left < 0) {
        int64_t unknown = -1;
        protections_left.compare_exchange_strong(unknown, protection_budget(), relaxed);  // relaxed: as above
        left = protections_left.load(relaxed);                                            // relaxed: as above
    }
    while (left > 0) {
        if (protections_left.compare_exchange_weak(left, left - 1, relaxed)) return true;  // relaxed: as above
    }
    return false;
}

void give_protections_back(int64_t n) noexcept {
    int64_t left = protections_left.load(relaxed);  // relaxed: as in take_protection
    // relaxed: as above
    while (left >= 0 && !protections_left.compare_exchange_weak(left, left + n, relaxed)) {}
}

// The best guard there is. canary if there is none.
guard_kind install_guard(std::byte* slot, bool may_write_protect) noexcept {
    if (!region_refused.load(relaxed) && os::guard_region(slot, guard_size))
        return guard_kind::region;  // relaxed: a test's
    if (may_write_protect && os::write_protect(slot, guard_size)) return guard_kind::write_protection;
    if (take_protection()) {
        if (os::protect_pages(slot, guard_size)) return guard_kind::protection;
        give_protections_back(1);
    }
    return guard_kind::canary;
}

void warn_of_canaries() noexcept {
    if (!canary_warned.exchange(true, relaxed)) {  // relaxed: only one of us prints
        warn(
            "no guard regions (Linux < 6.13?) and no mappings left: further stacks are checked by canary at each "
            "switch");
    }
}

}  // namespace

int stack_pool::class_for(std::size_t size, int lowest) const noexcept {
    for (int c = lowest; c < stack_classes; ++c) {
        if (size <= usable_size(c)) return c;
    }
    return -1;
}

std::size_t stack_pool::usable_size(int size_class) const noexcept {
    if (size_class == 0) return options_.default_size;
    return smallest_large_class << (2 * (size_class - 1));
}

// Of a growing slab that is kept, only stacks that somebody was on: each committed range is a mapping.
static void empty_unbound(const slab& s) noexcept {
    const uint32_t carved = s.carved.load(relaxed);  // relaxed: nobody else is left
    for (uint32_t i = 0; i < s.slots; ++i) {
        if (i < carved && s.record(i)->owner != nullptr) continue;
        static_cast<void>(os::decommit_pages(s.slot(i), s.stride));  // if not, it costs what it did
    }
}

stack_pool::~stack_pool() {
    for (slab* s = slabs_.load(relaxed); s != nullptr;) {         // relaxed: nobody else is left
        for (uint32_t i = 0; i < s->carved.load(relaxed); ++i) {  // relaxed: as above
            s->record(i)->sanitizers.end_g();
            s->record(i)->sanitizers.destroy();
        }
        if (!s->kept) {
            os::unmap_pages(s->base, s->mapped_size());
            give_protections_back(s->protections);
        } else if (s->at_first != 0) {
            empty_unbound(*s);
        }
        slab* next = s->next;
        delete s;
        s = next;
    }
}

void stack_pool::keep(const stack& kept) noexcept {
    slab* s = slabs_.load(acquire);  // pairs with map_slab_locked
    while (kept.low < s->base || kept.low >= s->base + s->mapped_size()) s = s->next;
    s->kept = true;
}

// Maps the memory of s, with what of it has to be there before a credit is promised. May lower the number of slots. False, with errno set:
// nothing is mapped.
bool stack_pool::map_slots(slab& s) const noexcept {
    if (options_.policy != stack_policy::growing) {
        s.base = static_cast<std::byte*>(os::map_pages(s.mapped_size(), options_.policy == stack_policy::paged));
        return s.base != nullptr;
    }
    s.base = static_cast<std::byte*>(os::map_reserved(s.mapped_size()));
    if (s.base == nullptr) return false;
    s.at_first = static_cast<uint32_t>((stack_initial + os::page_size() - 1) / os::page_size() * os::page_size());
    for (uint32_t i = 0; i < s.slots; ++i) {
        const int error = os::commit_pages(s.slot(i + 1) - s.at_first, s.at_first);
        if (error == 0) continue;
        os::unmap_pages(s.slot(i), s.stride * (s.slots - i));
        s.slots = i;
        errno = error;
    }
    return s.slots != 0;
}

// Installs the guards of all slots. False: one cannot have any.
bool stack_pool::guard_slots(slab& s) const noexcept {
    s.guards.reset(new (std::nothrow) guard_kind[s.slots]);
    bool all = s.guards != nullptr;
    for (uint32_t i = 0; i < s.slots && all; ++i) {
        s.guards[i] = install_guard(s.slot(i), s.may_write_protect);
        if (s.guards[i] == guard_kind::protection) ++s.protections;
        all = s.guards[i] != guard_kind::canary;
    }
    return all;
}

int stack_pool::map_slab_locked(int size_class, uint32_t slots) noexcept {
    const std::size_t page = os::page_size();
    const std::size_t pages =
        (guard_size + usable_size(size_class) + stack_colours * cache_line + sizeof(stack) + page - 1) / page;
    auto* s = new (std::nothrow) slab;
    if (s == nullptr) return ENOMEM;
    s->stride = (pages | 1) * page;  // odd, see the head comment
    s->slots = slots;
    s->size_class = static_cast<uint8_t>(size_class);
    if (!map_slots(*s)) {
        const int error = errno;
        delete s;
        return error;
    }
    if (options_.policy != stack_policy::growing) {
        // Only where it is needed: it slows page faults of the whole mapping down.
        const bool regions =
            !region_refused.load(relaxed) && os::guard_region(s->base, guard_size);  // relaxed: a test's
        if (!regions && !write_protection_refused.load(relaxed)) {                   // relaxed: a test's
            s->may_write_protect = os::allow_write_protect(s->base, s->mapped_size());
        }
        // The guards must stand before a credit is promised.
        if (options_.always_guard && !guard_slots(*s)) {
            os::unmap_pages(s->base, s->mapped_size());
            give_protections_back(s->protections);
            delete s;
            return ENOMEM;
        }
    }
    s->next = slabs_.load(relaxed);  // relaxed: written under the lock we hold
    slabs_.store(s, release);        // pairs with find
    carving_[size_class] = s;
    slots_[size_class] += s->slots;
    return 0;
}

stack* stack_pool::carve_locked(int size_class) noexcept {
    slab* s = carving_[size_class];
    const auto used_up = [](const slab& one) { return one.carved.load(relaxed) == one.slots; };  // relaxed: locked
    while (s != nullptr && (used_up(*s) || s->size_class != size_class)) s = s->next;
    carving_[size_class] = s;
    if (s == nullptr) return nullptr;
    const uint32_t index = s->carved.load(relaxed);  // relaxed: locked
    std::byte* slot = s->slot(index);
    auto* made = ::new (s->record(index)) stack;
    made->low = slot + guard_size;
    made->size_class = static_cast<uint8_t>(size_class);
    made->measured = options_.measured;
    if (s->at_first != 0) {
        made->guard = guard_kind::protection;
        made->uncommitted.store(static_cast<uint32_t>(s->slot(index + 1) - s->at_first - made->low),
                                relaxed);  // relaxed: published by carved
    } else if (s->guards != nullptr) {
        made->guard = s->guards[index];
    } else {
        made->guard = install_guard(slot, s->may_write_protect);
        if (made->guard == guard_kind::protection) ++s->protections;
        if (made->guard == guard_kind::canary) warn_of_canaries();
    }
    made->sanitizers.create(made->low, made->size());
    s->carved.store(index + 1, release);  // pairs with find
    return made;
}

int stack_pool::reserve(uint32_t n) noexcept {
    lock_.lock();
    int error = 0;
    const uint32_t most = options_.policy == stack_policy::growing ? largest_growing_slab_slots : largest_slab_slots;
    while (credits_ + n + options_.cache_reserve > slots_[0] && error == 0) {
        uint64_t slots = slots_[0] < first_slab_slots ? first_slab_slots : slots_[0];
        if (slots > most) slots = most;
        error = map_slab_locked(0, static_cast<uint32_t>(slots));
    }
    if (error == 0) credits_ += n;
    lock_.unlock();
    return error;
}

int stack_pool::reserve_for_caches(uint32_t more) noexcept {
    lock_.lock();
    options_.cache_reserve += more;
    lock_.unlock();
    const int error = reserve(0);
    if (error != 0) unreserve_for_caches(more);
    return error;
}

void stack_pool::unreserve_for_caches(uint32_t fewer) noexcept {
    lock_.lock();
    options_.cache_reserve -= fewer;
    lock_.unlock();
}

void stack_pool::unreserve(uint32_t n) noexcept {
    lock_.lock();
    WEFT_ASSERT(credits_ >= n);
    credits_ -= n;
    lock_.unlock();
}

stack* stack_pool::pop_locked(int size_class) noexcept {
    stack* s = depot_[size_class].pop();
    if (s == nullptr) return trimmed_[size_class].pop();
    unused_[size_class] = std::min(unused_[size_class], depot_[size_class].size());
    return s;
}

stack* stack_pool::take() noexcept {
    lock_.lock();
    stack* s = pop_locked(0);
    if (s == nullptr) s = carve_locked(0);
    lock_.unlock();
    WEFT_ASSERT(s != nullptr);  // I1
    return s;
}

fifo<stack> stack_pool::take_reused(uint32_t n) noexcept {
    fifo<stack> batch;
    lock_.lock();
    move_front(depot_[0], batch, n);
    unused_[0] = std::min(unused_[0], depot_[0].size());
    if (batch.empty()) move_front(trimmed_[0], batch, n);
    lock_.unlock();
    return batch;
}

stack* stack_pool::take_large(int size_class, int& error) noexcept {
    WEFT_ASSERT(size_class > 0 && size_class < stack_classes);
    uint32_t slots = large_class_slots;
    if (options_.policy == stack_policy::fixed)
        slots =
            static_cast<uint32_t>(std::clamp<std::size_t>(largest_counted_slab / usable_size(size_class), 1, slots));
    lock_.lock();
    stack* s = pop_locked(size_class);
    if (s == nullptr) s = carve_locked(size_class);
    if (s == nullptr) {
        error = map_slab_locked(size_class, slots);
        if (error == 0) s = carve_locked(size_class);
    }
    lock_.unlock();
    return s;
}

void stack_pool::give(stack* s) noexcept {
    lock_.lock();
    depot_[s->size_class].push(s);
    lock_.unlock();
}

void stack_pool::give(fifo<stack>& batch) noexcept {
    lock_.lock();
    depot_[0].take_all(batch);
    lock_.unlock();
}

uint64_t stack_pool::mapped() noexcept {
    lock_.lock();
    uint64_t all = 0;
    for (const uint64_t n : slots_) all += n;
    lock_.unlock();
    return all;
}

stack* stack_pool::find(const void* address, bool& in_guard) noexcept {
    const auto* at = static_cast<const std::byte*>(address);
    for (slab* s = slabs_.load(acquire); s != nullptr; s = s->next) {  // pairs with map_slab_locked
        if (at < s->base || at >= s->base + s->mapped_size()) continue;
        const auto index = static_cast<uint32_t>(static_cast<std::size_t>(at - s->base) / s->stride);
        if (index >= s->carved.load(acquire)) return nullptr;  // pairs with carve_locked
        in_guard = at < s->slot(index) + guard_size;
        return s->record(index);
    }
    return nullptr;
}

bool canary_intact(const stack& s) noexcept {
    static_assert(canary_size % sizeof(uint64_t) == 0);
    const auto* word = reinterpret_cast<const volatile uint64_t*>(s.low);
    uint64_t all = 0;
    for (std::size_t i = 0; i < canary_size / sizeof(uint64_t); ++i) all |= word[i];
    return all == 0;
}

void refuse_guard_regions_for_test(bool refuse, int protections_allowed, bool write_protection) noexcept {
    write_protection_refused.store(refuse && !write_protection, relaxed);  // relaxed: tests only
    region_refused.store(refuse, relaxed);                                 // relaxed: tests only
    protections_left.store(protections_allowed, relaxed);                  // relaxed: tests only
    canary_warned.store(false, relaxed);                                   // relaxed: tests only
}

}  // namespace weft::detail
