// stack.h: the stack of a green thread, and the pool it comes from.
//
// Stacks come from slabs: one large sparse mapping holds many equal slots, each a guard at the low end and usable memory above
// it. The kernel commits pages when they are touched, which is all the growing there is: a stack costs one page until
// its G calls deeper. The distance between slots is an odd number of pages, or stacks would fall on few TLB sets; their
// tops are shifted by multiples of a cache line, or they would fall on few cache sets.
//
//   slot:  low address                                                                 high address
//          │ guard (64 KiB) │ usable (256 KiB) …………………………………… │ stack record │ colour (0-15 lines) │
//                           low                                  ▲ first sp
//
// Guards: MADV_GUARD_INSTALL (Linux 6.13) costs neither memory nor a mapping, so a million guarded stacks fit under the default limit
// of 65 530 mappings. Where a slab refuses it, userfaultfd's write protection does the same for writes, if the process may have one;
// else mprotect guards what the limit allows (each costs two mappings), and beyond
// that the lowest bytes of the stack serve as a canary: they are zero as long as nothing has run into them, which is
// checked at every switch without costing a page. One line on stderr says so; guard_policy::always makes it an error instead.
//
// Admission: a G has to find a stack at its first run, when there is nobody left to report failure to. So starting a G takes a
// credit, and credits never exceed the slots that are mapped, less what other Ps may keep in their caches. Mapping happens where a
// credit is asked for, at the call that can throw.
//
// Policies. That is paged. Two more, for those who need them (docs/stacks.md says when), share slots, records, pool and credits:
//
//   fixed     the slab counts as memory in full where the system counts: what was mapped can be touched.
//   growing   the slab is reserved without access; the highest stack_initial bytes of a slot are committed when the slab is mapped, further
//             pages by the fault handler (grow.cc), down to low. The guard needs no installing: it is never committed.
//
// Rejected: one mmap per stack (two mappings each, 5 µs, a limit at 32 000); malloc'd stacks (no guard); segmented stacks (hot
// split); copying (C++ has no stack maps). Unmapping on the hot path costs a TLB shootdown, so memory goes back only by trim(), which the
// monitor calls after a time in which it was not needed: trim.cc.
//
// Invariants: I1. credits issued + reserve kept for caches <= slots mapped.
//             I2. A stack is in one place: bound to a G, in one P's cache, in the depot, in its slab's list of retired ones, or in the hands of
//                 trim(). Without a record its slot is blank.
//             I3. Only the owner of a stack, and pages below what its frames use, grow it; only retired stacks are trimmed.
// Locks:      pool lock (leaf).
// Who:        reserve by a thread that may throw; take and give by an M with a P; find and grow by a signal handler; trim by a
//             monitor.
// See:        docs/stacks.md
#pragma once

#include <cstddef>
#include <cstdint>

#include <weft/detail/spin_lock.h>
#include <weft/stack_policy.h>

#include "base/atomic.h"
#include "base/list.h"
#include "base/low_water.h"
#include "context/sanitizer.h"

namespace weft::detail {

struct G;
struct M;
struct slab;

enum class guard_kind : uint8_t { region, write_protection, protection, canary, missing };

// The record at the top of a stack's slot.
struct alignas(64) stack {
    stack* next = nullptr;     // guarded by the list it is on; while it is bound and continues another: that one
    stack* behind = nullptr;   // there, one that comes some places later; see link_ahead
    std::byte* low = nullptr;  // lowest usable byte; usable memory ends at this record
    G* owner = nullptr;        // whom it is bound to; for the overflow report
    std::byte* end = nullptr;  // of a thread's own stack, which is in no slab; else nullptr: it ends at this record
    M* pinned_to = nullptr;    // if the owner is pinned: the only M it runs on
    uint8_t size_class = 0;
    guard_kind guard = guard_kind::region;
    bool continues = false;  // its owner's frames go on on the stack next, see sched/big_stack.h
    bool measured = false;   // RUN_DEBUG=stack_use: each owner finds it fresh, and what it has used is noted
    uint32_t holder = 0;     // the owner's record as a holder of mutexes, with trait::recorded; see sched/lending.h
    atomic<uint32_t> uncommitted{0};  // bytes from low on that cannot be accessed yet; lowered by whoever grows it
    fiber sanitizers;

    // Where the first frame goes. Requires: in a slab.
    [[nodiscard]] void* top() noexcept { return this; }

    // Above all frames.
    [[nodiscard]] const std::byte* high() const noexcept {
        return end != nullptr ? end : reinterpret_cast<const std::byte*>(this);
    }

    [[nodiscard]] std::size_t size() const noexcept { return static_cast<std::size_t>(high() - low); }

    // The stack on which its owner's frames go on upwards; nullptr: they begin here.
    [[nodiscard]] const stack* continued() const noexcept { return continues ? next : nullptr; }

    [[nodiscard]] bool holds(const void* address) const noexcept { return address >= low && address < high(); }
};

static_assert(sanitized || sizeof(stack) == 64, "one cache line at the top of each stack");

// Usable sizes on offer: class 0 is the runtime's default, the others four times the one before, from 1 MiB.
inline constexpr int stack_classes = 5;
inline constexpr std::size_t guard_size = 64 * 1024;
inline constexpr std::size_t canary_size = 64;
inline constexpr std::size_t stack_initial = 8 * 1024;  // committed of a growing stack at first
inline constexpr std::size_t growth_step = 64 * 1024;   // committed at least beyond the page that faulted
inline constexpr uint32_t trimmed_at_once = 8;          // stacks that trim() has in its hands

// What became of a fault in a stack.
enum class growth : uint8_t {
    none,     // it has nothing to do with growing
    grown,    // the access may be tried again
    refused,  // the system has no memory for it
};

// What trim() has done.
struct trimming {
    uint32_t stacks = 0;  // whose memory it has given back
    uint64_t bytes = 0;   // that were in memory before
    bool more = false;    // the round goes on: there is more to be done
    bool over = false;    // nothing is left that a later round could give back, until give() says true again
};

class stack_pool {
public:
    struct options {
        std::size_t default_size;  // usable bytes of class 0
        uint32_t cache_reserve;    // class 0 stacks that Ps, and trim(), may have in their hands, all together
        bool always_guard;
        stack_policy policy = stack_policy::paged;
        bool measured = false;  // stack::measured of all
        bool trims = true;      // somebody calls trim() when give() says so
    };

    explicit stack_pool(const options& o) noexcept : options_(o), watched_(!o.trims) {}

    stack_pool(const stack_pool&) = delete;
    stack_pool& operator=(const stack_pool&) = delete;

    // Unmaps everything but what is kept. Requires: nobody runs on a stack of this pool.
    ~stack_pool();

    // The smallest class, of those from lowest on, with at least size usable bytes (0: the default); -1 if none is large enough.
    [[nodiscard]] int class_for(std::size_t size, int lowest = 0) const noexcept;
    [[nodiscard]] std::size_t usable_size(int size_class) const noexcept;

    // Takes n credits for class 0, mapping slabs if needed. Returns 0, or an errno value, and then nothing was taken.
    [[nodiscard]] int reserve(uint32_t n) noexcept;

    // There may be more stacks in Ps' caches than before. As reserve.
    [[nodiscard]] int reserve_for_caches(uint32_t more) noexcept;
    void unreserve_for_caches(uint32_t fewer) noexcept;

    // Gives n credits back.
    void unreserve(uint32_t n) noexcept;

    // A stack of class 0 that a credit stands for: never fails. Reused ones first.
    [[nodiscard]] stack* take() noexcept;

    // Up to n reused stacks of class 0 at once, for a P's cache.
    [[nodiscard]] fifo<stack> take_reused(uint32_t n) noexcept;

    // A stack of a larger class; nullptr, with errno's value in error, if there is none to be had.
    [[nodiscard]] stack* take_large(int size_class, int& error) noexcept;

    // Gives stacks back to the depot. True: the caller has to see to it that trim() is called from now on, until that is over.
    [[nodiscard]] bool give(stack* s) noexcept;
    [[nodiscard]] bool give(fifo<stack>& batch) noexcept;  // all of class 0

    // What lies on s stays where it is, also when the pool is gone.
    void keep(const stack& s) noexcept;

    // Slots mapped so far, all classes.
    [[nodiscard]] uint64_t mapped() noexcept;

    // The stack whose slot holds address; nullptr if none of this pool's. in_guard: whether address is in its guard.
    // Takes no lock: for the fault handler.
    [[nodiscard]] stack* find(const void* address, bool& in_guard) noexcept;

    // s, of this pool, was accessed at address by an instruction at pc, and that faulted: commits pages if that is what is missing. Takes no
    // lock, keeps errno: for the fault handler.
    [[nodiscard]] growth grow(stack& s, const void* address, const void* pc) noexcept;

    // A part of a round that gives back the memory of stacks that were not needed since the round before, some most of them: their pages, and
    // whole slabs with their page tables. The first call of a round decides how many that are. Some microseconds for each stack. One caller at
    // a time: a second one is told that there is more.
    trimming trim(uint32_t most) noexcept;

    // Gives all pages of s back but the one with its record. Requires: nobody uses s. Returns what was in memory.
    std::size_t discard_depth(stack& s) noexcept;

    // Bytes that trim() has given back so far, and slots that it has unmapped.
    [[nodiscard]] uint64_t trimmed_bytes() const noexcept {
        return trimmed_bytes_.load(relaxed);  // relaxed: statistics
    }

    [[nodiscard]] uint64_t unmapped() const noexcept { return unmapped_.load(relaxed); }  // relaxed: statistics

    [[nodiscard]] stack_policy policy() const noexcept { return options_.policy; }

private:
    // Stacks of one class.
    struct shelf {
        lifo<stack> depot;
        low_water unused;         // of the depot, since the last round of trim()
        uint64_t slots = 0;       // mapped
        uint64_t retired = 0;     // stacks in lists of slabs
        uint32_t surplus = 0;     // stacks that the present round of trim() has still to retire
        slab* carving = nullptr;  // no older slab has a blank slot; nullptr: none has
        slab* taking = nullptr;   // no older slab has retired stacks; nullptr: none has
    };

    [[nodiscard]] std::byte* map_slots(std::size_t stride, uint32_t& slots) const noexcept;
    [[nodiscard]] std::size_t stride_of(int size_class) const noexcept;
    [[nodiscard]] uint32_t committed_at_first() const noexcept;
    [[nodiscard]] bool guard_slots(slab& s) const noexcept;
    [[nodiscard]] int map_slab_locked(uint8_t size_class, uint32_t slots) noexcept;
    [[nodiscard]] slab* describe_locked(uint8_t size_class, uint32_t slots) noexcept;
    [[nodiscard]] stack* pop_locked(int size_class) noexcept;
    [[nodiscard]] stack* pop_retired_locked(int size_class) noexcept;
    [[nodiscard]] stack* carve_locked(int size_class) noexcept;
    [[nodiscard]] slab* slab_of_locked(const void* address) noexcept;
    [[nodiscard]] uint64_t spare_locked() const noexcept;
    [[nodiscard]] bool tell_locked() noexcept;

    // trim.cc
    void begin_round_locked() noexcept;
    [[nodiscard]] bool end_round_locked() noexcept;
    void retire_locked(uint32_t most) noexcept;
    [[nodiscard]] bool give_back_locked(uint32_t most, trimming& done) noexcept;
    [[nodiscard]] slab* next_to_leave_locked() noexcept;
    void empty_part(uint32_t most, trimming& done) noexcept;
    void unmap(slab& s) noexcept;
    [[nodiscard]] slab* next_to_blank_locked() const noexcept;
    [[nodiscard]] bool blank_some_locked(slab& s, uint32_t most, trimming& done) noexcept;
    [[nodiscard]] bool blank(stack& one, std::byte* end, trimming& done) noexcept;

    options options_;

    spin_lock lock_;
    // Guarded by lock_.
    shelf shelves_[stack_classes];
    uint64_t credits_ = 0;    // of class 0
    low_water spare_;         // slots of class 0 that nothing was promised for, since the last round of trim()
    bool watched_;            // somebody calls trim()
    slab* last_ = nullptr;    // the youngest
    slab* looked_ = nullptr;  // in which slab_of_locked() has found something last

    // Of the round of trim() that goes on; of its caller, who has set trims_.
    atomic<bool> trims_{false};
    bool in_round_ = false;
    uint64_t may_leave_ = 0;     // slots of class 0 that the round may unmap
    slab* leaving_ = nullptr;    // which is being emptied, to be unmapped …
    uint32_t leaving_from_ = 0;  // … as far as this slot

    // The oldest. Written under lock_, read by the fault handler without: slabs are only ever added.
    atomic<slab*> slabs_{nullptr};
    atomic<uint64_t> trimmed_bytes_{0};
    atomic<uint64_t> unmapped_{0};
};

// How deep s has been used: bytes from its high end to the lowest page that is in memory. Of any stack that stays mapped.
[[nodiscard]] std::size_t touched_bytes(const stack& s) noexcept;

// Whether something ran over the low end of a stack without a guard.
[[nodiscard]] bool canary_intact(const stack& s) noexcept;

// Test hook: pretend the system refuses guard regions (and write protection too, unless it is to be used), and allow at most that many
// mprotect guards (-1: the system's limit).
void refuse_guard_regions_for_test(bool refuse, int protections_allowed, bool write_protection = false) noexcept;

}  // namespace weft::detail
