// leak_search.cc: see leak_search.h.
#include "observe/leak_search.h"

#include <algorithm>
#include <cstring>

#include "lifecycle/crash.h"
#include "observe/heap_chunks.h"
#include "observe/memory_map.h"
#include "os/os.h"
#include "sched/scheduler.h"
#include "stack/slab.h"

namespace weft::observe::detail {

namespace {

using weft::detail::acquire;
using weft::detail::G;
using weft::detail::g_state;
using weft::detail::M;
using weft::detail::relaxed_hint;
using weft::detail::scheduler;
using weft::detail::slab;
using weft::detail::wait_reason;
using weft::detail::waiter;

constexpr std::size_t mappings_max = 200'000;
constexpr std::size_t regions_max = 400'000;
constexpr std::size_t heaps_max = 4096;
constexpr std::size_t red_zone = 128;  // a leaf function may use so much below the stack pointer
constexpr std::size_t word = sizeof(uintptr_t);

uintptr_t address_of(const void* p) noexcept { return reinterpret_cast<uintptr_t>(p); }

uintptr_t word_at(uintptr_t address) noexcept {
    uintptr_t value = 0;
    std::memcpy(&value, reinterpret_cast<const void*>(address), sizeof(value));
    return value;
}

uintptr_t minus_red_zone(uintptr_t sp) noexcept { return sp - red_zone; }

// A green thread.
struct seen_g {
    const G* g = nullptr;  // nullptr: this place of the table is free
    const scheduler* home = nullptr;
    uintptr_t low = 0;   // the live part of its current stack
    uintptr_t high = 0;  // low == high: it has none
    bool waits = false;
    bool reached = false;
};

// What glibc keeps for each thread, up to version 2.41: lists of free blocks, by size.
struct thread_cache {
    static constexpr std::size_t bins = 64;
    static constexpr unsigned mangling_shift = 12;  // a link is XORed with its own address, shifted

    uint16_t counts[bins];
    uintptr_t first[bins];

    [[nodiscard]] static constexpr std::size_t size_of(std::size_t bin) noexcept { return 24 + bin * 16; }
};

enum class region_kind : uint8_t {
    heap,         // blocks of malloc; index: of heaps_
    large_block,  // one block
    slab,         // stacks; from: the slab
    own_stack,    // of a thread, on which a G runs; from: the G
    gs,           // a chunk of a g_pool
    excluded,
};

struct region {
    uintptr_t low = 0;
    uintptr_t high = 0;
    region_kind kind = region_kind::excluded;
    bool reached = false;  // large_block
    uint32_t index = 0;
    const void* from = nullptr;
};

bool ends_from_outside(wait_reason reason) noexcept {
    switch (reason) {
        case wait_reason::none:
        case wait_reason::sleep:
        case wait_reason::start:
        case wait_reason::timer:
            return true;
        default:
            return weft::detail::is_woken_from_outside(reason) || reason == wait_reason::process_end;
    }
}

class search {
public:
    explicit search(search_result& result) noexcept : result_(result) {}

    void run() noexcept {
        if (!mappings_.reserve(mappings_max) || !regions_.reserve(regions_max) || !heaps_.reserve(heaps_max)) {
            return fail_for_memory();
        }
        if (!read_memory_map(mappings_)) {
            result_.error = search_error::no_memory_map;
            return;
        }
        if (!find_gs()) return fail_for_memory();
        find_regions();
        if (!sort_regions()) return fail_for_memory();
        if (!pending_.reserve(pending_max())) return fail_for_memory();
        find_stacks_in_use();
        leave_out_runtimes();
        for (std::size_t i = 0; i < heaps_.size(); ++i)
            heaps_[i].for_each_block([&](const chunk_heap::block& b) noexcept { leave_out_if_cache(b); });
        scan_roots();
        drain();
        store_result();
        result_.error = search_error::none;
        result_.is_complete = true;
    }

private:
    void fail_for_memory() noexcept { result_.error = search_error::no_memory; }

    // ---- Green threads.

    bool find_gs() noexcept {
        std::size_t count = 0;
        for_each_g([&](scheduler&, G&) noexcept { ++count; });
        table_size_ = std::size_t{64};
        while (table_size_ < 2 * count + 2) table_size_ *= 2;
        gs_ = static_cast<seen_g*>(map_zeroed(table_size_ * sizeof(seen_g)));
        if (gs_ == nullptr) return false;
        for_each_g([&](scheduler& s, G& g) noexcept { add_g(s, g); });
        for (std::size_t i = 0; i < result_.thread_count; ++i) note_thread(result_.threads[i]);
        return true;
    }

    template <typename F>
    static void for_each_g(F&& f) noexcept {
        for_each_scheduler([&](scheduler& s) noexcept {
            s.gs.for_each([&](G& g) noexcept {
                if (g.state.load(relaxed_hint) != g_state::dead) f(s, g);
            });
        });
    }

    template <typename F>
    static void for_each_scheduler(F&& f) noexcept {
        weft::detail::visit_schedulers(
            [](void* closure, scheduler& s) noexcept {
                if (!weft::detail::is_from_before_fork(s)) (*static_cast<std::remove_reference_t<F>*>(closure))(s);
                return true;
            },
            &f);
    }

    void add_g(const scheduler& s, const G& g) noexcept {
        seen_g& seen = place_of(&g);
        if (seen.g == nullptr) ++result_.live;
        seen.g = &g;
        seen.home = &s;
        const g_state state = g.state.load(acquire);  // pairs with set_state
        if (const weft::detail::stack* on = g.stack; on != nullptr && g.started()) {
            seen.high = address_of(on->high());
            seen.low = address_of(on->low) + on->uncommitted.load(relaxed_hint);
            const bool is_parked = state == g_state::runnable || state == g_state::waiting;
            const uintptr_t sp = minus_red_zone(address_of(g.context.sp));
            if (is_parked && sp > seen.low && sp < seen.high) seen.low = sp;
        }
        seen.waits = state == g_state::waiting && could_leak(g, seen);
        if (seen.waits) ++result_.waiting;
    }

    // Whether g waits for something inside the process, and the wait is not over.
    static bool could_leak(const G& g, const seen_g& seen) noexcept {
        const uintptr_t at = address_of(g.waiting);
        if (ends_from_outside(g.reason) || at < seen.low || at + sizeof(waiter) > seen.high) return false;
        const waiter& w = *g.waiting;
        if (w.claim == nullptr) return w.queue != nullptr;
        const uintptr_t claim = address_of(w.claim);
        if (!(claim >= seen.low && claim < seen.high)) return false;  // its runtime ends
        constexpr uint32_t unclaimed = ~uint32_t{1};                  // preparing, or parked
        return w.claim->winner() >= unclaimed;
    }

    [[nodiscard]] seen_g& place_of(const G* g) const noexcept {
        std::size_t i = (address_of(g) / sizeof(G) * 0x9e3779b97f4a7c15U) >> 20 & (table_size_ - 1);
        while (gs_[i].g != nullptr && gs_[i].g != g) i = (i + 1) & (table_size_ - 1);
        return gs_[i];
    }

    // A G that runs, or is in a call, has its stack pointer in a register.
    void note_thread(const stopped_thread& t) noexcept {
        if (!t.is_known) return;
        const G* g = owner_of_stack_at(t.stack_pointer);
        if (g == nullptr) return;
        seen_g& seen = place_of(g);
        const uintptr_t sp = minus_red_zone(t.stack_pointer);
        if (seen.g == nullptr || seen.waits || sp < seen.low || sp >= seen.high) return;
        seen.low = sp;
    }

    static const G* owner_of_stack_at(uintptr_t address) noexcept {
        const G* owner = nullptr;
        for_each_scheduler([&](scheduler& s) noexcept {
            bool in_guard = false;
            const weft::detail::stack* at = s.stacks.find(reinterpret_cast<const void*>(address), in_guard);
            if (at != nullptr) owner = at->owner;
        });
        return owner;
    }

    // ---- Regions.

    void add(region_kind kind, uintptr_t low, uintptr_t high, const void* from = nullptr, uint32_t index = 0) noexcept {
        if (low < high) regions_.add({low, high, kind, false, index, from});
    }

    void find_regions() noexcept {
        weft::detail::for_each_abandoned_slab(&search::add_abandoned_slab, this);
        for (const address_range& r : result_.not_scanned) add(region_kind::excluded, r.low, r.high);
        for_each_scheduler([&](scheduler& s) noexcept {
            s.stacks.for_each_slab(&search::add_slab, this);
            const weft::detail::recorded_thread* t = s.record->rings.load(acquire);  // pairs with attach
            for (; t != nullptr; t = t->next) add(region_kind::excluded, address_of(t), address_of(t) + t->mapped);
            uintptr_t last = 0;
            s.gs.for_each([&](G& g) noexcept {
                const uintptr_t chunk = address_of(&g) & ~uintptr_t{weft::detail::g_pool::chunk_size - 1};
                if (chunk == last) return;
                last = chunk;
                add(region_kind::gs, chunk, chunk + weft::detail::g_pool::chunk_size);
            });
        });
        for (std::size_t i = 0; i < table_size_; ++i) {
            const seen_g& seen = gs_[i];
            if (seen.g == nullptr || seen.high == 0) continue;
            const weft::detail::stack* on = seen.g->stack;
            if (on->end != nullptr) add(region_kind::own_stack, address_of(on->low), address_of(on->end), seen.g);
        }
        std::sort(regions_.begin(), regions_.end(), before);
        const std::size_t known = regions_.size();
        for (const memory_mapping& m : mappings_) {
            find_heaps_in(m, known);
            if (!m.writable) continue;
            const address_range arena = main_arena_in(m);
            add(region_kind::excluded, arena.low, arena.high);
        }
    }

    static void add_slab(void* self, const slab& s) noexcept {
        const uintptr_t base = address_of(s.base.load(acquire));  // A2 of slab.h
        static_cast<search*>(self)->add(region_kind::slab, base, base + s.mapped_size(), &s);
    }

    static void add_abandoned_slab(void* self, const std::byte* low, std::size_t size) noexcept {
        static_cast<search*>(self)->add(region_kind::excluded, address_of(low), address_of(low) + size);
    }

    static bool before(const region& a, const region& b) noexcept { return a.low < b.low; }

    // known: regions that were sorted before; no heap is in one of them.
    void find_heaps_in(const memory_mapping& m, std::size_t known) noexcept {
        if (!m.writable || m.shared || !m.anonymous || m.main_stack) return;
        if (m.main_heap) {
            add_heap({m.low, m.high}, weft::detail::os::page_size() - 1);
            return;
        }
        for (uintptr_t at = m.low; at < m.high;) {
            if (const region* in = find_in(at, known)) {
                at = in->high;
                continue;
            }
            at = skip_heap_at(at, m.high);
        }
    }

    // Returns where to look next.
    uintptr_t skip_heap_at(uintptr_t at, uintptr_t limit) noexcept {
        const uintptr_t next = at + weft::detail::os::page_size();
        if (!pages_.exists(at)) return next;
        if (const std::size_t size = large_chunk_at(at, limit)) {
            add(region_kind::large_block, at, at + size);
            result_.heap_bytes += size;
            ++result_.heap_blocks;
            return at + size;
        }
        if (at % arena_heap_alignment != 0) return next;
        const heap_bounds bounds = arena_heap_at(at, limit);
        if (bounds.high == 0 || !add_heap(bounds, 0)) return next;
        add(region_kind::excluded, at, bounds.low);  // what malloc knows of the arena
        return bounds.high;
    }

    bool add_heap(const heap_bounds& bounds, std::size_t slack) noexcept {
        if (heaps_.is_full()) return false;
        chunk_heap heap;
        if (!heap.read(bounds.low, bounds.high, slack)) return false;
        add(region_kind::heap, bounds.low, bounds.high, nullptr, static_cast<uint32_t>(heaps_.size()));
        heaps_.add(heap);
        result_.heap_bytes += heap.high() - heap.low();
        result_.heap_blocks += heap.count();
        return true;
    }

    bool sort_regions() noexcept {
        if (regions_.is_full()) return false;
        std::sort(regions_.begin(), regions_.end(), before);
        for (const region& r : regions_) {
            for (uintptr_t part = r.low >> coarse_shift; part <= (r.high - 1) >> coarse_shift; ++part) {
                coarse_[part % coarse_parts / 64] |= uint64_t{1} << (part % 64);
            }
        }
        return true;
    }

    [[nodiscard]] region* find_in(uintptr_t address, std::size_t count) noexcept {
        region* first = regions_.begin();
        region* after = std::upper_bound(first, first + count, address,
                                         [](uintptr_t a, const region& r) noexcept { return a < r.low; });
        if (after == first) return nullptr;
        region* found = after - 1;
        return address < found->high ? found : nullptr;
    }

    // ---- Scanning.

    [[nodiscard]] std::size_t pending_max() const noexcept {
        return static_cast<std::size_t>(result_.heap_blocks) + 2 * table_size_ + regions_.size();
    }

    // The runtime and its Ms count as scanned.
    void leave_out_runtimes() noexcept {
        for_each_scheduler([&](scheduler& s) noexcept WEFT_NO_THREAD_SAFETY_ANALYSIS {
            mark_only(address_of(&s));
            for (const M* m = s.all_ms; m != nullptr; m = m->all_next) {
                mark_only(address_of(m));
            }
        });
    }

    // Each thread has a cache of free blocks, which malloc counts as used. Blocks in it are not
    // scanned, nor is the cache.
    void leave_out_if_cache(const chunk_heap::block& b) noexcept {
        if (!b.in_use || b.high - b.low != sizeof(thread_cache) + word) return;
        const auto& cache = *reinterpret_cast<const thread_cache*>(b.low);
        for (std::size_t i = 0; i < thread_cache::bins; ++i) {
            if ((cache.first[i] == 0) != (cache.counts[i] == 0)) return;
            if (cache.first[i] != 0 && size_of_free(cache.first[i]) != thread_cache::size_of(i)) return;
        }
        mark_only(b.low);
        for (std::size_t i = 0; i < thread_cache::bins; ++i) {
            uintptr_t at = cache.first[i];
            for (std::size_t n = 0; n < cache.counts[i] && size_of_free(at) == thread_cache::size_of(i); ++n) {
                mark_only(at);
                at = word_at(at) ^ (at >> thread_cache::mangling_shift);
            }
        }
    }

    // The usable size of the block that begins there; 0: none does.
    [[nodiscard]] std::size_t size_of_free(uintptr_t at) noexcept {
        const region* in = find_in(at, regions_.size());
        if (in == nullptr || in->kind != region_kind::heap) return 0;
        const chunk_heap::block b = heaps_[in->index].find(at);
        return b.low == at ? b.high - b.low : 0;
    }

    void mark_only(uintptr_t at) noexcept {
        const region* in = find_in(at, regions_.size());
        if (in == nullptr || in->kind != region_kind::heap) return;
        const chunk_heap::block b = heaps_[in->index].find(at);
        if (b.low != 0) heaps_[in->index].mark(b);
    }

    void scan_roots() noexcept {
        for (std::size_t i = 0; i < mappings_.size(); ++i) {
            const memory_mapping& m = mappings_[i];
            if (m.writable && (!m.shared || m.in_memory) && !is_stack_without_thread(i)) scan_mapping(m);
        }
        for (std::size_t i = 0; i < result_.thread_count; ++i) {
            const stopped_thread& t = result_.threads[i];
            if (is_idle_[i]) continue;
            for (std::size_t w = 0; w < t.words; ++w) visit(t.registers[w]);
        }
        for_each_scheduler([&](scheduler& s) noexcept {
            for (uint32_t i = 0; i < s.ps.made(); ++i)
                scan({address_of(&s.ps[i]), address_of(&s.ps[i] + 1)});  // timers
        });
        for (std::size_t i = 0; i < table_size_; ++i) {
            if (gs_[i].g != nullptr && !gs_[i].waits) reach(gs_[i]);
        }
        drain();
    }

    // glibc keeps the stacks of threads that have ended. What it knows of a thread is at the same
    // distance from the top of each stack, and begins with its own address.
    [[nodiscard]] bool is_stack_without_thread(std::size_t i) const noexcept {
        const memory_mapping& m = mappings_[i];
        if (!has_guard(i) || m.shared || m.main_stack) return false;
        std::size_t distance = 0;
        for (std::size_t k = 0; k < result_.thread_count; ++k) {
            const stopped_thread& t = result_.threads[k];
            if (!t.is_known && !t.has_ended) return false;
            if (t.thread_pointer >= m.low && t.thread_pointer < m.high) return false;
            if (t.is_known && distance == 0) distance = distance_of(t);
        }
        const uintptr_t at = m.high - distance;
        return distance != 0 && distance < m.high - m.low && at % word == 0 && word_at(at) == at &&
               word_at(at + 2 * word) == at;
    }

    [[nodiscard]] bool has_guard(std::size_t i) const noexcept {
        return i != 0 && mappings_[i].anonymous && mappings_[i - 1].high == mappings_[i].low &&
               !mappings_[i - 1].readable;
    }

    // 0: its stack is not from glibc.
    [[nodiscard]] std::size_t distance_of(const stopped_thread& t) const noexcept {
        for (std::size_t i = 0; i < mappings_.size(); ++i) {
            const memory_mapping& m = mappings_[i];
            if (t.thread_pointer >= m.low && t.thread_pointer < m.high) {
                return has_guard(i) ? m.high - t.thread_pointer : 0;
            }
        }
        return 0;
    }

    // All of it but regions, and the dead part of a thread's stack.
    void scan_mapping(const memory_mapping& m) noexcept {
        uintptr_t at = live_from(m);
        while (at < m.high) {
            region* after = std::upper_bound(regions_.begin(), regions_.end(), at,
                                             [](uintptr_t a, const region& r) noexcept { return a < r.low; });
            const uintptr_t inside = after == regions_.begin() ? 0 : (after - 1)->high;
            if (inside > at) {
                at = inside;
                continue;
            }
            const uintptr_t end = after == regions_.end() ? m.high : std::min(m.high, after->low);
            scan_root({at, end}, m);
            at = end;
        }
    }

    [[nodiscard]] uintptr_t live_from(const memory_mapping& m) const noexcept {
        for (std::size_t i = 0; i < result_.thread_count; ++i) {
            const stopped_thread& t = result_.threads[i];
            if (!t.is_known) continue;
            const uintptr_t sp = minus_red_zone(in_use_from_[i]);
            if (sp < m.low || sp >= m.high) continue;
            // glibc puts what it knows of a thread at the top of the stack that it has mapped for it.
            const bool is_its_stack = m.main_stack || (t.thread_pointer > sp && t.thread_pointer <= m.high);
            if (is_its_stack) return sp & ~uintptr_t{word - 1};
        }
        return m.low;
    }

    // Where the used part of each thread's own stack begins. On g0 runs only the scheduler, except
    // in a blocking call. So on the stack of an M that runs a G, or is idle, there is nothing of the
    // program but thread-local variables; where these begin is known on x86-64. Registers of an idle
    // M, and what functions of the scheduler have saved of them, are those of Gs that have run there.
    void find_stacks_in_use() noexcept {
        for (std::size_t i = 0; i < result_.thread_count; ++i) in_use_from_[i] = result_.threads[i].stack_pointer;
        for_each_scheduler([&](scheduler& s) noexcept WEFT_NO_THREAD_SAFETY_ANALYSIS {
            for (const M* m = s.all_ms; m != nullptr; m = m->all_next) note_m(*m);
        });
    }

    void note_m(const M& m) noexcept {
        const uintptr_t left_at = address_of(m.g0.sp);
        for (std::size_t i = 0; i < result_.thread_count; ++i) {
            const stopped_thread& t = result_.threads[i];
            if (t.tid != m.tid() || !t.is_known || left_at == 0) continue;
            const bool runs_g = m.g != nullptr && owner_of_stack_at(t.stack_pointer) == m.g;
            const bool is_idle = m.on_idle_list && m.g == nullptr && m.lent_by == nullptr && t.in_system_call &&
                                 left_at > t.stack_pointer;
            const bool has_own_stack = result_.thread_locals_size != 0 && t.thread_pointer > left_at &&
                                       t.thread_pointer - left_at < weft::detail::os::page_size() * 4;
            const uintptr_t unused_to = t.thread_pointer - result_.thread_locals_size;
            if (runs_g || is_idle) in_use_from_[i] = has_own_stack && unused_to > left_at ? unused_to : left_at;
            is_idle_[i] = is_idle;
        }
    }

    void scan_root(address_range r, const memory_mapping& m) noexcept {
        const uintptr_t page = weft::detail::os::page_size();
        const bool all_exist = !m.anonymous;  // what was not touched is in the file
        for (uintptr_t at = r.low; at < r.high;) {
            const uintptr_t end = std::min(r.high, (at / page + 1) * page);
            if (all_exist || pages_.exists(at)) {
                result_.root_bytes += end - at;
                if (m.anonymous && !m.main_stack) result_.other_bytes += end - at;
                scan({at, end});
                drain();
            }
            at = end;
        }
    }

    // The arena of the program's break is a variable of the C library. Its lists of free blocks have
    // addresses of chunks, which are also those of the last word of the block before. An empty list
    // refers to itself.
    [[nodiscard]] static address_range main_arena_in(const memory_mapping& m) noexcept {
        constexpr std::size_t lists_size = 254 * word;
        constexpr std::size_t before_lists = 14 * word;  // fast bins, what the heap has left, flags
        constexpr std::size_t empty_min = 32;
        if (m.anonymous || m.shared) return {};
        std::size_t empty = 0;
        uintptr_t first = 0;
        for (uintptr_t at = m.low; at + 2 * word <= m.high; at += word) {
            if (word_at(at) != at - 2 * word || word_at(at + word) != at - 2 * word) continue;
            if (empty == 0 || at - first > lists_size) {
                empty = 0;
                first = at;
            }
            if (++empty < empty_min) continue;
            uintptr_t last = at;
            for (uintptr_t next = at; next < first + lists_size && next + 2 * word <= m.high; next += word) {
                if (word_at(next) == next - 2 * word && word_at(next + word) == next - 2 * word) last = next;
            }
            const uintptr_t end = last + 2 * word;
            return {std::max(m.low, end - lists_size - before_lists), end};
        }
        return {};
    }

    void scan(address_range r) noexcept {
        result_.scanned_bytes += r.high - r.low;
        for (uintptr_t at = (r.low + word - 1) & ~uintptr_t{word - 1}; at + word <= r.high; at += word) {
            visit(word_at(at));
        }
    }

    void visit(uintptr_t value) noexcept {
        const uintptr_t part = value >> coarse_shift;
        if ((coarse_[part % coarse_parts / 64] >> (part % 64) & 1) == 0) return;
        region* in =
            last_ != nullptr && value >= last_->low && value < last_->high ? last_ : find_in(value, regions_.size());
        if (in == nullptr) return;
        last_ = in;
        switch (in->kind) {
            case region_kind::heap:
                visit_block(heaps_[in->index], value);
                return;
            case region_kind::large_block:
                if (in->reached) return;
                in->reached = true;
                ++result_.blocks_reached;
                push({in->low, in->high});
                return;
            case region_kind::slab:
                visit_stack(*static_cast<const slab*>(in->from), value);
                return;
            case region_kind::own_stack:
                reach_if_live(place_of(static_cast<const G*>(in->from)), value);
                return;
            case region_kind::gs:
                visit_g(value);
                return;
            case region_kind::excluded:
                return;
        }
    }

    void visit_block(chunk_heap& heap, uintptr_t value) noexcept {
        const chunk_heap::block b = heap.find(value);
        if (b.low == 0 || !heap.mark(b)) return;
        ++result_.blocks_reached;
        if (b.in_use) push({b.low, b.high});
    }

    void visit_stack(const slab& s, uintptr_t value) noexcept {
        std::byte* base = s.base.load(relaxed_hint);
        const auto* at = reinterpret_cast<const std::byte*>(value);
        if (!s.holds(base, at)) return;
        const uint32_t index = s.index_in(base, at);
        if (!s.is_live(index)) return;
        const weft::detail::stack* record = s.record_in(base, index);
        const G* owner = record->owner;
        if (owner == nullptr) return;
        seen_g& seen = place_of(owner);
        if (seen.g == nullptr) return;
        if (owner->stack == record) {
            reach_if_live(seen, value);
        } else if (at < record->high()) {
            reach(seen);  // its frames continue there
        }
    }

    void reach_if_live(seen_g& seen, uintptr_t value) noexcept {
        if (value >= seen.low && value < seen.high) reach(seen);
    }

    // An address inside the closure counts, that of the G does not: lists of the runtime have it. A
    // thread that is about to start a green thread has the address of the closure of a dead G.
    void visit_g(uintptr_t value) noexcept {
        const uintptr_t at = value & ~uintptr_t{sizeof(G) - 1};
        const auto* g = reinterpret_cast<const G*>(at);
        const uintptr_t closure = address_of(&g->closure_storage);
        const bool in_closure = value >= closure && value < closure + G::inline_closure_size;
        if (!in_closure) return;
        seen_g& seen = place_of(g);
        if (seen.g != nullptr) {
            reach(seen);
        } else if (mark_unstarted(at)) {
            push({closure, closure + G::inline_closure_size});
        }
    }

    // True: the G was not marked before.
    bool mark_unstarted(uintptr_t at) noexcept {
        for (const uintptr_t one : unstarted_) {
            if (one == at) return false;
        }
        if (unstarted_count_ == unstarted_max) return false;
        unstarted_[unstarted_count_++] = at;
        return true;
    }

    void reach(seen_g& seen) noexcept {
        if (seen.reached) return;
        seen.reached = true;
        push({address_of(seen.g), address_of(seen.g) + sizeof(G)});
        if (seen.low == seen.high) return;
        push({seen.low, seen.high});
        for (const weft::detail::stack* s = seen.g->stack->continued(); s != nullptr; s = s->continued()) {
            push({address_of(s->low) + s->uncommitted.load(relaxed_hint), address_of(s->high())});
        }
    }

    void push(address_range r) noexcept {
        if (!pending_.add(r)) scan(r);  // cannot happen: each is pushed once
    }

    void drain() noexcept {
        while (pending_.size() != 0) {
            const address_range r = pending_[pending_.size() - 1];
            pending_.pop();
            scan_pages(r);
        }
    }

    // Large blocks may have pages that were never touched.
    void scan_pages(address_range r) noexcept {
        constexpr std::size_t large = std::size_t{64} * 1024;
        if (r.high - r.low < large) {
            scan(r);
            return;
        }
        const uintptr_t page = weft::detail::os::page_size();
        for (uintptr_t at = r.low; at < r.high;) {
            const uintptr_t end = std::min(r.high, (at / page + 1) * page);
            if (pages_.exists(at)) scan({at, end});
            at = end;
        }
    }

    void store_result() noexcept {
        for (std::size_t i = 0; i < table_size_; ++i) {
            const seen_g& seen = gs_[i];
            if (seen.g == nullptr || !seen.waits || seen.reached) continue;
            if (result_.found_count < search_result::found_max) {
                result_.found[result_.found_count] = {seen.home, seen.g->id};
            }
            ++result_.found_count;
        }
    }

    // Parts of the address space in which there is a region: a quick test for most words.
    static constexpr unsigned coarse_shift = 26;
    static constexpr std::size_t coarse_parts = std::size_t{1} << 21;  // of 47 bits

    static constexpr std::size_t unstarted_max = 4096;

    search_result& result_;
    page_array<memory_mapping> mappings_;
    page_array<region> regions_;
    page_array<chunk_heap> heaps_;
    page_array<address_range> pending_;
    page_table_reader pages_;
    seen_g* gs_ = nullptr;
    std::size_t table_size_ = 0;
    region* last_ = nullptr;
    uintptr_t in_use_from_[search_result::threads_max] = {};  // of each of result_.threads
    bool is_idle_[search_result::threads_max] = {};
    uintptr_t unstarted_[unstarted_max] = {};
    std::size_t unstarted_count_ = 0;
    uint64_t coarse_[coarse_parts / 64] = {};
};

}  // namespace

void search_for_leaks(search_result& into) noexcept {
    void* memory = map_zeroed(sizeof(search));
    if (memory == nullptr) {
        into.error = search_error::no_memory;
        return;
    }
    (new (memory) search(into))->run();
}

}  // namespace weft::observe::detail
