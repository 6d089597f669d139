// stack.cc: slabs, guards and the depot. See stack.h.
#include "stack/stack.h"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <memory>
#include <new>
#include <utility>

#include "base/assert.h"
#include "os/commit.h"
#include "os/os.h"
#include "os/vmem.h"
#include "stack/slab.h"

namespace weft::detail {

namespace {

constexpr std::size_t smallest_large_class = 1024 * 1024;
constexpr uint32_t first_slab_slots = 256;
constexpr uint32_t large_class_slots = 16;
constexpr uint32_t largest_growing_slab_slots = 1024;             // partly committed when mapped
constexpr std::size_t largest_counted_slab = 64UL * 1024 * 1024;  // of a larger class, where all of it is charged

// Left for the rest of the process when mprotect guards stacks.
constexpr uint64_t mappings_kept_back = 8192;

constinit atomic<bool> region_refused{false};
constinit atomic<bool> write_protection_refused{false};
constinit atomic<int64_t> protections_left{-1};  // -1: not yet known
constinit atomic<bool> canary_warned{false};

int64_t protection_budget() noexcept {
    const uint64_t limit = os::mapping_limit();
    return limit > mappings_kept_back ? static_cast<int64_t>((limit - mappings_kept_back) / 2) : 0;
}

// Takes one mprotect guard from the process's budget.
bool take_protection() noexcept {
    int64_t left = protections_left.load(relaxed);  // relaxed: only a budget
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

guard_kind install_guard(std::byte* slot, bool may_write_protect) noexcept {
    if (!region_refused.load(relaxed) && os::guard_region(slot, guard_size))
        return guard_kind::region;  // relaxed: set by tests
    if (may_write_protect && os::write_protect(slot, guard_size)) return guard_kind::write_protection;
    if (take_protection()) {
        if (os::protect_pages(slot, guard_size)) return guard_kind::protection;
        give_protections_back(1);
    }
    return guard_kind::canary;
}

void warn_of_canaries() noexcept {
    if (!canary_warned.exchange(true, relaxed)) {  // relaxed: only the first caller prints
        warn(
            "no guard regions (they need Linux 6.13) and no mappings left (raise vm.max_map_count): each switch checks "
            "the canaries of further stacks");
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

namespace {

struct abandoned_slab {
    atomic<const std::byte*> low{nullptr};
    std::size_t size = 0;  // written before low
};

constexpr uint32_t abandoned_slabs_max = 4096;
constinit abandoned_slab abandoned_slabs[abandoned_slabs_max];
constinit atomic<uint32_t> abandoned_slab_count{0};

void note_abandoned(const slab& s) noexcept {
    const uint32_t i = abandoned_slab_count.fetch_add(1, relaxed);  // relaxed: only unique
    if (i >= abandoned_slabs_max) return;
    abandoned_slabs[i].size = s.mapped_size();
    abandoned_slabs[i].low.store(s.slot(0), release);  // pairs with for_each_abandoned_slab
}

}  // namespace

void for_each_abandoned_slab(void (*visit)(void* closure, const std::byte* low, std::size_t size) noexcept,
                             void* closure) noexcept {
    const uint32_t count = std::min(abandoned_slab_count.load(relaxed_count), abandoned_slabs_max);
    for (uint32_t i = 0; i < count; ++i) {
        const std::byte* low = abandoned_slabs[i].low.load(acquire);  // pairs with note_abandoned
        if (low != nullptr) visit(closure, low, abandoned_slabs[i].size);
    }
}

// In a kept growing slab, because each committed range is a mapping.
static void empty_unbound(const slab& s) noexcept {
    for (uint32_t i = 0; i < s.slots; ++i) {
        if (s.is_live(i) && s.record(i)->owner != nullptr) continue;
        static_cast<void>(os::decommit_pages(s.slot(i), s.stride));  // if this fails, it costs what it did before
    }
}

stack_pool::~stack_pool() {
    for (slab* s = slabs_.load(relaxed_alone); s != nullptr;) {
        for (uint32_t i = 0; i < s->slots; ++i) {
            if (!s->is_live(i)) continue;
            s->record(i)->sanitizers.end_g();
            s->record(i)->sanitizers.destroy();
        }
        if (!s->kept && s->is_mapped()) {
            os::unmap_pages(s->slot(0), s->mapped_size());
            give_protections_back(s->protections);
        } else if (s->kept) {
            note_abandoned(*s);
            if (s->at_first != 0) empty_unbound(*s);
        }
        slab* next = s->next.load(relaxed);  // relaxed: as above
        delete s;
        s = next;
    }
}

void stack_pool::keep(const stack& kept) noexcept {
    slab* s = slabs_.load(acquire);                                                // A3
    while (!s->holds(s->base.load(relaxed), kept.low)) s = s->next.load(acquire);  // relaxed: kept is in use. A3
    s->kept = true;
}

// Of each slot; 0: all.
uint32_t stack_pool::committed_at_first() const noexcept {
    if (options_.policy != stack_policy::growing) return 0;
    const std::size_t page = os::page_size();
    return static_cast<uint32_t>((stack_initial + page - 1) / page * page);
}

// An odd number of pages; see stack.h.
std::size_t stack_pool::stride_of(int size_class) const noexcept {
    const std::size_t page = os::page_size();
    const std::size_t size = guard_size + usable_size(size_class) + stack_colours * cache_line + sizeof(stack);
    return ((size + page - 1) / page | 1) * page;
}

// May lower slots. Returns nullptr, with errno set, on failure.
std::byte* stack_pool::map_slots(std::size_t stride, uint32_t& slots) const noexcept {
    if (options_.policy != stack_policy::growing)
        return static_cast<std::byte*>(os::map_pages(stride * slots, options_.policy == stack_policy::paged));
    auto* base = static_cast<std::byte*>(os::map_reserved(stride * slots));
    if (base == nullptr) return nullptr;
    const uint32_t at_first = committed_at_first();
    for (uint32_t i = 0; i < slots; ++i) {
        const int error = os::commit_stack(base + stride * (i + 1) - at_first, at_first);
        if (error == 0) continue;
        os::unmap_pages(base + stride * i, stride * (slots - i));
        slots = i;
        errno = error;
    }
    return slots != 0 ? base : nullptr;
}

// Returns false if a slot has only a canary.
bool stack_pool::guard_slots(slab& s) const noexcept {
    bool all = true;
    for (uint32_t i = 0; i < s.slots && all; ++i) {
        s.guards[i] = install_guard(s.slot(i), s.may_write_protect);
        if (s.guards[i] == guard_kind::protection) ++s.protections;
        all = s.guards[i] != guard_kind::canary;
    }
    return all;
}

// Returns one without a mapping, or nullptr if out of memory.
slab* stack_pool::describe_locked(uint8_t size_class, uint32_t slots) noexcept {
    for (slab* s = slabs_.load(relaxed_locked); s != nullptr; s = s->next.load(relaxed_locked)) {
        if (!s->is_mapped() && !s->leaves && s->size_class == size_class && s->slots == slots) return s;
    }
    auto* s = new (std::nothrow) slab;
    if (s == nullptr) return nullptr;
    s->guards.reset(new (std::nothrow) guard_kind[slots]);
    if (s->guards == nullptr) {
        delete s;
        return nullptr;
    }
    s->stride = stride_of(size_class);
    s->slots = slots;
    s->size_class = size_class;
    s->at_first = committed_at_first();
    (last_ != nullptr ? last_->next : slabs_).store(s, release);  // R3
    return last_ = s;
}

int stack_pool::map_slab_locked(uint8_t size_class, uint32_t slots) noexcept {
    const std::size_t stride = stride_of(size_class);
    std::byte* base = map_slots(stride, slots);
    if (base == nullptr) return errno;
    slab* s = describe_locked(size_class, slots);
    if (s == nullptr) {
        os::unmap_pages(base, stride * slots);
        return ENOMEM;
    }
    s->may_write_protect = false;
    s->protections = 0;
    std::fill_n(s->guards.get(), slots, guard_kind::missing);
    s->base.store(base, release);  // R2
    if (options_.policy != stack_policy::growing) {
        // Only where needed: it slows page faults of the slab.
        const bool regions =
            !region_refused.load(relaxed) && os::guard_region(base, guard_size);  // relaxed: set by tests
        if (!regions && !write_protection_refused.load(relaxed)) {                // relaxed: set by tests
            s->may_write_protect = os::allow_write_protect(base, s->mapped_size());
        }
        // The guards must be in place before a credit is issued.
        if (options_.always_guard && !guard_slots(*s)) {
            s->base.store(nullptr, release);  // R2
            os::unmap_pages(base, s->mapped_size());
            give_protections_back(s->protections);
            return ENOMEM;
        }
    }
    shelf& all = shelves_[size_class];
    all.carving = slabs_.load(relaxed_locked);
    all.slots += slots;
    return 0;
}

// The lowest blank slot, of the oldest slab that has one, to keep stacks in use together.
stack* stack_pool::carve_locked(int size_class) noexcept {
    slab* s = shelves_[size_class].carving;
    while (s != nullptr && !(s->size_class == size_class && s->has_blank())) s = s->next.load(relaxed_locked);
    shelves_[size_class].carving = s;
    if (s == nullptr) return nullptr;
    const uint32_t index = s->find_blank();
    std::byte* slot = s->slot(index);
    auto* made = ::new (s->record(index)) stack;
    made->low = slot + guard_size;
    made->size_class = static_cast<uint8_t>(size_class);
    made->measured = options_.measured;
    guard_kind& guard = s->guards[index];
    if (s->at_first != 0) {
        guard = guard_kind::protection;
        made->uncommitted.store(static_cast<uint32_t>(s->slot(index + 1) - s->at_first - made->low),
                                relaxed);  // relaxed: published by the live bit
    } else if (guard == guard_kind::missing) {
        guard = install_guard(slot, s->may_write_protect);
        if (guard == guard_kind::protection) ++s->protections;
        if (guard == guard_kind::canary) warn_of_canaries();
    }
    made->guard = guard;
    made->sanitizers.create(made->low, made->size());
    is_internal(made, sizeof(*made));
    s->set_live(index, true);
    return made;
}

uint64_t stack_pool::spare_locked() const noexcept {
    const uint64_t promised = credits_ + options_.cache_reserve;
    return shelves_[0].slots > promised ? shelves_[0].slots - promised : 0;
}

int stack_pool::reserve(uint32_t n) noexcept {
    lock_.lock();
    int error = 0;
    const uint32_t most = options_.policy == stack_policy::growing ? largest_growing_slab_slots : largest_slab_slots;
    const uint64_t& slots = shelves_[0].slots;
    while (credits_ + n + options_.cache_reserve > slots && error == 0) {
        // Few sizes, so that a description finds its next mapping.
        const uint64_t wanted = std::bit_floor(std::clamp<uint64_t>(slots, first_slab_slots, most));
        error = map_slab_locked(0, static_cast<uint32_t>(wanted));
    }
    if (error == 0) credits_ += n;
    spare_.fell_to(spare_locked());
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

stack* stack_pool::pop_retired_locked(int size_class) noexcept {
    shelf& all = shelves_[size_class];
    if (all.retired == 0) return nullptr;
    slab* s = all.taking;
    while (s->size_class != size_class || s->retired.empty()) s = s->next.load(relaxed_locked);
    all.taking = s;
    --all.retired;
    return s->retired.pop();
}

stack* stack_pool::pop_locked(int size_class) noexcept {
    shelf& all = shelves_[size_class];
    stack* s = all.depot.pop();
    if (s == nullptr) return pop_retired_locked(size_class);
    all.unused.fell_to(all.depot.size());
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
    shelf& all = shelves_[0];
    move_front(all.depot, batch, n);
    all.unused.fell_to(all.depot.size());
    if (batch.empty()) {
        while (batch.size() < n && all.retired != 0) batch.push_back(pop_retired_locked(0));
    }
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
        error = map_slab_locked(static_cast<uint8_t>(size_class), slots);
        if (error == 0) s = carve_locked(size_class);
    }
    lock_.unlock();
    return s;
}

bool stack_pool::tell_locked() noexcept { return !std::exchange(watched_, true); }

bool stack_pool::give(stack* s) noexcept {
    lock_.lock();
    shelves_[s->size_class].depot.push(s);
    const bool tell = tell_locked();
    lock_.unlock();
    return tell;
}

bool stack_pool::give(fifo<stack>& batch) noexcept {
    lock_.lock();
    shelves_[0].depot.take_all(batch);
    const bool tell = tell_locked();
    lock_.unlock();
    return tell;
}

uint64_t stack_pool::mapped() noexcept {
    lock_.lock();
    uint64_t all = 0;
    for (const shelf& one : shelves_) all += one.slots;
    lock_.unlock();
    return all;
}

slab* stack_pool::slab_of_locked(const void* address) noexcept {
    slab* s = looked_;
    if (s != nullptr && s->holds(s->base.load(relaxed_locked), address)) return s;
    for (s = slabs_.load(relaxed_locked); !s->holds(s->base.load(relaxed_locked), address);) {
        s = s->next.load(relaxed_locked);
    }
    return looked_ = s;
}

void stack_pool::unmap(slab& s) noexcept {
    lock_.lock();
    std::byte* base = s.slot(0);
    s.base.store(nullptr, release);                                // R2
    for (atomic<uint64_t>& word : s.live) word.store(0, relaxed);  // relaxed: readers of base find nullptr
    s.live_count = 0;
    if (looked_ == &s) looked_ = nullptr;
    lock_.unlock();
    os::unmap_pages(base, s.mapped_size());
    give_protections_back(s.protections);
    unmapped_.fetch_add(s.slots, relaxed_count);
    lock_.lock();
    s.leaves = false;
    lock_.unlock();
}

stack* stack_pool::find(const void* address, bool& in_guard) noexcept {
    for (const slab* s = slabs_.load(acquire); s != nullptr; s = s->next.load(acquire)) {  // A3
        std::byte* base = s->base.load(acquire);                                           // A2
        if (!s->holds(base, address)) continue;
        const uint32_t index = s->index_in(base, address);
        if (!s->is_live(index)) return nullptr;
        in_guard = static_cast<const std::byte*>(address) < s->slot_in(base, index) + guard_size;
        return s->record_in(base, index);
    }
    return nullptr;
}

void stack_pool::for_each_slab(void (*visit)(void* closure, const slab& s) noexcept, void* closure) const noexcept {
    for (const slab* s = slabs_.load(acquire); s != nullptr; s = s->next.load(acquire)) {  // A3
        if (s->base.load(acquire) != nullptr) visit(closure, *s);                          // A2
    }
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
