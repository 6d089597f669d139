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
// Rejected: one mmap per stack (two mappings each, 5 µs, a limit at 32 000); malloc'd stacks (no guard); segmented stacks (hot
// split); copying (C++ has no stack maps). Unmapping on the hot path costs a TLB shootdown, so slabs are only unmapped when the
// runtime stops.
//
// Invariants: I1. credits issued + reserve kept for caches <= slots mapped.
//             I2. A stack is in one place: bound to a G, in one P's cache, or in the depot.
// Locks:      pool lock (leaf).
// Who:        reserve by a thread that may throw; take and give by an M with a P.
// See:        docs/stacks.md
#pragma once

#include <cstddef>
#include <cstdint>

#include <weft/detail/spin_lock.h>

#include "base/list.h"
#include "context/sanitizer.h"

namespace weft::detail {

struct G;
struct M;
struct slab;

enum class guard_kind : uint8_t { region, write_protection, protection, canary };

// The record at the top of a stack's slot.
struct alignas(64) stack {
    stack* next = nullptr;     // guarded by the list it is on
    stack* behind = nullptr;   // there, one that comes some places later; see link_ahead
    std::byte* low = nullptr;  // lowest usable byte; usable memory ends at this record
    G* owner = nullptr;        // whom it is bound to; for the overflow report
    std::byte* end = nullptr;  // of a thread's own stack, which is in no slab; else nullptr: it ends at this record
    M* pinned_to = nullptr;    // if the owner is pinned: the only M it runs on
    uint8_t size_class = 0;
    guard_kind guard = guard_kind::region;
    uint32_t holder = 0;  // the owner's record as a holder of mutexes, with trait::recorded; see sched/lending.h
    fiber sanitizers;

    // Where the first frame goes. Requires: in a slab.
    [[nodiscard]] void* top() noexcept { return this; }

    // Above all frames.
    [[nodiscard]] const std::byte* high() const noexcept {
        return end != nullptr ? end : reinterpret_cast<const std::byte*>(this);
    }

    [[nodiscard]] std::size_t size() const noexcept { return static_cast<std::size_t>(high() - low); }
};

// Usable sizes on offer: class 0 is the runtime's default, the others four times the one before, from 1 MiB.
inline constexpr int stack_classes = 5;
inline constexpr std::size_t guard_size = 64 * 1024;
inline constexpr std::size_t canary_size = 64;

class stack_pool {
public:
    struct options {
        std::size_t default_size;  // usable bytes of class 0
        uint32_t cache_reserve;    // class 0 stacks that Ps may keep for themselves, all together
        bool always_guard;
    };

    explicit stack_pool(const options& o) noexcept : options_(o) {}

    stack_pool(const stack_pool&) = delete;
    stack_pool& operator=(const stack_pool&) = delete;

    // Unmaps everything but what is kept. Requires: nobody runs on a stack of this pool.
    ~stack_pool();

    // The smallest class with at least size usable bytes (0: the default); -1 if none is large enough.
    [[nodiscard]] int class_for(std::size_t size) const noexcept;
    [[nodiscard]] std::size_t usable_size(int size_class) const noexcept;

    // Takes n credits for class 0, mapping slabs if needed. Returns 0, or an errno value, and then nothing was taken.
    [[nodiscard]] int reserve(uint32_t n) noexcept;

    // Gives n credits back.
    void unreserve(uint32_t n) noexcept;

    // A stack of class 0 that a credit stands for: never fails. Reused ones first.
    [[nodiscard]] stack* take() noexcept;

    // Up to n reused stacks of class 0 at once, for a P's cache.
    [[nodiscard]] fifo<stack> take_reused(uint32_t n) noexcept;

    // A stack of a larger class; nullptr, with errno's value in error, if there is none to be had.
    [[nodiscard]] stack* take_large(int size_class, int& error) noexcept;

    // Gives stacks back to the depot.
    void give(stack* s) noexcept;
    void give(fifo<stack>& batch) noexcept;  // all of class 0

    // What lies on s stays where it is, also when the pool is gone.
    void keep(const stack& s) noexcept;

    // Slots mapped so far, all classes.
    [[nodiscard]] uint64_t mapped() noexcept;

    // The stack whose slot holds address; nullptr if none of this pool's. in_guard: whether address is in its guard.
    // Takes no lock: for the fault handler.
    [[nodiscard]] stack* find(const void* address, bool& in_guard) noexcept;

private:
    [[nodiscard]] int map_slab_locked(int size_class, uint32_t slots) noexcept;
    [[nodiscard]] stack* carve_locked(int size_class) noexcept;

    const options options_;

    spin_lock lock_;
    // Guarded by lock_.
    lifo<stack> depot_[stack_classes];
    slab* carving_[stack_classes] = {};  // the newest slab of each class, with slots never used so far
    uint64_t slots_[stack_classes] = {};
    uint64_t credits_ = 0;  // of class 0

    // Written under lock_, read by the fault handler without: slabs are only ever added.
    atomic<slab*> slabs_{nullptr};
};

// Whether something ran over the low end of a stack without a guard.
[[nodiscard]] bool canary_intact(const stack& s) noexcept;

// Test hook: pretend the system refuses guard regions (and write protection too, unless it is to be used), and allow at most that many
// mprotect guards (-1: the system's limit).
void refuse_guard_regions_for_test(bool refuse, int protections_allowed, bool write_protection = false) noexcept;

}  // namespace weft::detail
