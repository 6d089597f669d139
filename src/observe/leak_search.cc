// leak_search.cc: see leak_search.h.
#include "observe/leak_search.h"

#include <algorithm>
#include <cstring>

#include "lifecycle/crash.h"
#include "observe/memory_regions.h"
#include "observe/memory_word.h"
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

// In a copy of the process, nothing changes the list.
const M* first_m(const scheduler& s) noexcept WEFT_NO_THREAD_SAFETY_ANALYSIS { return s.all_ms; }

constexpr std::size_t red_zone = 128;  // a leaf function may use so much below the stack pointer

uintptr_t address_of(const void* p) noexcept { return reinterpret_cast<uintptr_t>(p); }

uintptr_t minus_red_zone(uintptr_t sp) noexcept { return sp - red_zone; }

// A green thread.
struct scanned_g {
    const G* g = nullptr;  // nullptr: this place of the table is free
    const scheduler* home = nullptr;
    uintptr_t low = 0;   // the live part of its current stack
    uintptr_t high = 0;  // low == high: it has none
    bool waits = false;
    bool reached = false;
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

class memory_search {
public:
    explicit memory_search(search_result& result) noexcept : result_(result) {}

    void run() noexcept {
        if (!regions_.reserve()) return fail_for_memory();
        if (!regions_.read_map()) {
            result_.error = search_error::no_memory_map;
            return;
        }
        if (!find_gs()) return fail_for_memory();
        find_regions();
        if (!regions_.sort()) return fail_for_memory();
        result_.heap_bytes = regions_.heap_bytes();
        result_.heap_blocks = regions_.heap_blocks();
        if (!pending_.reserve(pending_max())) return fail_for_memory();
        find_stacks_in_use();
        leave_out_runtimes();
        regions_.leave_out_caches();
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
        gs_ = static_cast<scanned_g*>(map_zeroed(table_size_ * sizeof(scanned_g)));
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
        scanned_g& seen = place_of(&g);
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
    static bool could_leak(const G& g, const scanned_g& seen) noexcept {
        const uintptr_t at = address_of(g.waiting);
        if (ends_from_outside(g.reason) || at < seen.low || at + sizeof(waiter) > seen.high) return false;
        const waiter& w = *g.waiting;
        if (w.claim == nullptr) return w.queue != nullptr;
        const uintptr_t claim = address_of(w.claim);
        if (!(claim >= seen.low && claim < seen.high)) return false;  // its runtime ends
        constexpr uint32_t unclaimed = ~uint32_t{1};                  // preparing, or parked
        return w.claim->winner() >= unclaimed;
    }

    [[nodiscard]] scanned_g& place_of(const G* g) const noexcept {
        std::size_t i = (address_of(g) / sizeof(G) * 0x9e3779b97f4a7c15U) >> 20 & (table_size_ - 1);
        while (gs_[i].g != nullptr && gs_[i].g != g) i = (i + 1) & (table_size_ - 1);
        return gs_[i];
    }

    // A G that runs, or is in a call, has its stack pointer in a register.
    void note_thread(const stopped_thread& t) noexcept {
        if (!t.is_known) return;
        const G* g = owner_of_stack_at(t.stack_pointer);
        if (g == nullptr) return;
        scanned_g& seen = place_of(g);
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

    void find_regions() noexcept {
        weft::detail::for_each_abandoned_slab(&memory_search::add_abandoned_slab, this);
        for (const address_range& r : result_.not_scanned) regions_.add(region_kind::excluded, r.low, r.high);
        for_each_scheduler([&](scheduler& s) noexcept {
            s.stacks.for_each_slab(&memory_search::add_slab, this);
            const weft::detail::recorded_thread* t = s.record->rings.load(acquire);  // pairs with attach
            for (; t != nullptr; t = t->next)
                regions_.add(region_kind::excluded, address_of(t), address_of(t) + t->mapped);
            uintptr_t last = 0;
            s.gs.for_each([&](G& g) noexcept {
                const uintptr_t chunk = address_of(&g) & ~uintptr_t{weft::detail::g_pool::chunk_size - 1};
                if (chunk == last) return;
                last = chunk;
                regions_.add(region_kind::gs, chunk, chunk + weft::detail::g_pool::chunk_size);
            });
        });
        for (std::size_t i = 0; i < table_size_; ++i) {
            const scanned_g& seen = gs_[i];
            if (seen.g == nullptr || seen.high == 0) continue;
            const weft::detail::stack* on = seen.g->stack;
            if (on->end != nullptr)
                regions_.add(region_kind::own_stack, address_of(on->low), address_of(on->end), seen.g);
        }
        regions_.add_heaps();
    }

    static void add_slab(void* self, const slab& s) noexcept {
        const uintptr_t base = address_of(s.base.load(acquire));  // A2 of slab.h
        static_cast<memory_search*>(self)->regions_.add(region_kind::slab, base, base + s.mapped_size(), &s);
    }

    static void add_abandoned_slab(void* self, const std::byte* low, std::size_t size) noexcept {
        static_cast<memory_search*>(self)->regions_.add(region_kind::excluded, address_of(low), address_of(low) + size);
    }

    // ---- Scanning.

    [[nodiscard]] std::size_t pending_max() const noexcept {
        return static_cast<std::size_t>(result_.heap_blocks) + 2 * table_size_ + regions_.size();
    }

    // The runtime and its Ms count as scanned.
    void leave_out_runtimes() noexcept {
        for_each_scheduler([&](scheduler& s) noexcept {
            regions_.leave_out(address_of(&s));
            for (const M* m = first_m(s); m != nullptr; m = m->all_next) {
                regions_.leave_out(address_of(m));
            }
        });
    }

    void scan_roots() noexcept {
        for (std::size_t i = 0; i < regions_.mappings().size(); ++i) {
            const memory_mapping& m = regions_.mappings()[i];
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
        const memory_mapping& m = regions_.mappings()[i];
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
        return i != 0 && regions_.mappings()[i].anonymous &&
               regions_.mappings()[i - 1].high == regions_.mappings()[i].low && !regions_.mappings()[i - 1].readable;
    }

    // 0: its stack is not from glibc.
    [[nodiscard]] std::size_t distance_of(const stopped_thread& t) const noexcept {
        for (std::size_t i = 0; i < regions_.mappings().size(); ++i) {
            const memory_mapping& m = regions_.mappings()[i];
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
            const region* after = regions_.after(at);
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
            // glibc puts what it knows of a thread at the top of the stack that it has mapped for
            // it.
            const bool is_its_stack = m.main_stack || (t.thread_pointer > sp && t.thread_pointer <= m.high);
            if (is_its_stack) return sp & ~uintptr_t{word - 1};
        }
        return m.low;
    }

    // Where the used part of each thread's own stack begins. On g0 runs only the scheduler, except
    // in a blocking call. So on the stack of an M that runs a G, or is idle, there is nothing of
    // the program but thread-local variables; where these begin is known on x86-64. Registers of an
    // idle M, and what functions of the scheduler have saved of them, are those of Gs that have run
    // there.
    void find_stacks_in_use() noexcept {
        for (std::size_t i = 0; i < result_.thread_count; ++i) in_use_from_[i] = result_.threads[i].stack_pointer;
        for_each_scheduler([&](scheduler& s) noexcept {
            for (const M* m = first_m(s); m != nullptr; m = m->all_next) note_m(*m);
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
            if (all_exist || regions_.pages().exists(at)) {
                result_.root_bytes += end - at;
                if (m.anonymous && !m.main_stack) result_.other_bytes += end - at;
                scan({at, end});
                drain();
            }
            at = end;
        }
    }

    void scan(address_range r) noexcept {
        result_.scanned_bytes += r.high - r.low;
        for (uintptr_t at = (r.low + word - 1) & ~uintptr_t{word - 1}; at + word <= r.high; at += word) {
            visit(word_at(at));
        }
    }

    void visit(uintptr_t value) noexcept {
        if (!regions_.may_hold(value)) return;
        region* in = last_ != nullptr && value >= last_->low && value < last_->high ? last_ : regions_.find(value);
        if (in == nullptr) return;
        last_ = in;
        switch (in->kind) {
            case region_kind::heap:
                visit_block(regions_.heap_of(*in), value);
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
        scanned_g& seen = place_of(owner);
        if (seen.g == nullptr) return;
        if (owner->stack == record) {
            reach_if_live(seen, value);
        } else if (at < record->high()) {
            reach(seen);  // its frames continue there
        }
    }

    void reach_if_live(scanned_g& seen, uintptr_t value) noexcept {
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
        scanned_g& seen = place_of(g);
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

    void reach(scanned_g& seen) noexcept {
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
            if (regions_.pages().exists(at)) scan({at, end});
            at = end;
        }
    }

    void store_result() noexcept {
        for (std::size_t i = 0; i < table_size_; ++i) {
            const scanned_g& seen = gs_[i];
            if (seen.g == nullptr || !seen.waits || seen.reached) continue;
            if (result_.found_count < search_result::found_max) {
                result_.found[result_.found_count] = {seen.home, seen.g->id};
            }
            ++result_.found_count;
        }
    }

    static constexpr std::size_t unstarted_max = 4096;

    search_result& result_;
    memory_regions regions_;
    page_array<address_range> pending_;
    scanned_g* gs_ = nullptr;
    std::size_t table_size_ = 0;
    region* last_ = nullptr;
    uintptr_t in_use_from_[search_result::threads_max] = {};  // of each of result_.threads
    bool is_idle_[search_result::threads_max] = {};
    uintptr_t unstarted_[unstarted_max] = {};
    std::size_t unstarted_count_ = 0;
};

}  // namespace

void search_for_leaks(search_result& into) noexcept {
    void* memory = map_zeroed(sizeof(memory_search));
    if (memory == nullptr) {
        into.error = search_error::no_memory;
        return;
    }
    (new (memory) memory_search(into))->run();
}

}  // namespace weft::observe::detail
