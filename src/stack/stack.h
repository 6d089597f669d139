// stack.h: the stack of a green thread, and the pool that supplies it.
//
// A slab is one sparse mapping of equal slots; the kernel commits pages on first touch. An odd
// number of pages per slot, and colours, spread stacks over TLB and cache sets.
//
//   slot:  low address                                                                 high address
//          │ guard (64 KiB) │ usable (256 KiB) …………………………………… │ stack record │ colour (0-15 lines) │
//                           low                                  ▲ first sp
//
// A G must find a stack at its first run, when failure can no longer be reported. So starting a G
// takes a credit, in a call that can throw, and that call maps slabs.
//
// Invariants: I1. credits issued + reserve for caches <= slots mapped.
//             I2. A stack is in one place: bound to a G, in a P's cache, in the depot, in its
//                 slab's retired list, or being trimmed. A slot without a record is blank.
//             I3. A stack grows only while bound, below the pages its frames use. Only retired
//                 stacks are trimmed.
// Locks:      pool lock (leaf).
// Threads:    reserve: a thread that may throw. take, give: an M with a P. find, grow: a signal
//             handler. trim: a monitor.
// See:        docs/stacks.md: guards, policies, rejected designs
#pragma once

#include <cstddef>
#include <cstdint>

#include <weft/stack_policy.h>

#include "base/atomic.h"
#include "base/list.h"
#include "base/low_water.h"
#include "base/ranked_lock.h"
#include "context/sanitizer.h"

namespace weft::detail {

struct G;
struct M;
struct fork_frame;
struct slab;

enum class guard_kind : uint8_t { region, write_protection, protection, canary, missing };

// The record at the top of a slot.
struct alignas(64) stack {
    union {
        stack* next = nullptr;  // Guarded by the list it is on; if continues: holds the frames above.
        fork_frame* forks;      // Bound and not continues: the newest pending fork; see weft/detail/fork_frame.h.
    };

    union {
        stack* behind = nullptr;  // On a list: some places later in it; see link_ahead.
        int64_t wait_began_ns;    // Of a G that waits: minus the time, if a profile wants it. Else not negative.
    };

    std::byte* low = nullptr;  // Lowest usable byte.
    G* owner = nullptr;        // The G it is bound to.
    std::byte* end = nullptr;  // Of a thread's own stack, outside slabs; nullptr: ends at this record.
    M* pinned_to = nullptr;    // The M to which the owner is pinned.
    uint8_t size_class = 0;
    guard_kind guard = guard_kind::region;
    bool continues = false;           // The owner's frames continue on next; see per_g/big_stack.h.
    bool measured = false;            // RUN_DEBUG=stack_use: fresh for each owner; its use is recorded.
    uint32_t holder = 0;              // The owner as a mutex holder; see per_g/inheritance.h.
    atomic<uint32_t> uncommitted{0};  // Inaccessible bytes from low up.
    fiber sanitizers;

    // Requires: in a slab.
    [[nodiscard]] void* top() noexcept { return this; }

    [[nodiscard]] const std::byte* high() const noexcept {
        return end != nullptr ? end : reinterpret_cast<const std::byte*>(this);
    }

    [[nodiscard]] std::size_t size() const noexcept { return static_cast<std::size_t>(high() - low); }

    // The stack with the frames above; nullptr: they begin here.
    [[nodiscard]] const stack* continued() const noexcept { return continues ? next : nullptr; }

    [[nodiscard]] bool holds(const void* address) const noexcept { return address >= low && address < high(); }
};

static_assert(sanitized || sizeof(stack) == 64, "one cache line at the top of each stack");

// Class 0 is the runtime's default; the others begin at 1 MiB, each four times the one before.
inline constexpr int stack_classes = 5;
inline constexpr std::size_t guard_size = 64 * 1024;
inline constexpr std::size_t canary_size = 64;
inline constexpr std::size_t stack_initial = 8 * 1024;  // committed bytes of a new growing stack
inline constexpr std::size_t growth_step = 64 * 1024;   // committed at least, below the faulting page
inline constexpr uint32_t trimmed_at_once = 8;          // stacks that trim() holds at a time

enum class growth : uint8_t {
    none,     // the fault has another cause
    grown,    // try the access again
    refused,  // no memory
};

struct trimming {
    uint32_t stacks = 0;  // whose memory was returned
    uint64_t bytes = 0;   // resident before
    bool more = false;    // the round is not finished
    bool over = false;    // nothing to do until give() returns true again
};

class stack_pool {
public:
    struct options {
        std::size_t default_size;  // usable bytes of class 0
        uint32_t cache_reserve;    // class 0 stacks that caches and trim() may hold
        bool always_guard;
        stack_policy policy = stack_policy::paged;
        bool measured = false;
        bool trims = true;  // give() requests calls of trim()
    };

    explicit stack_pool(const options& o) noexcept : options_(o), watched_(!o.trims) {}

    stack_pool(const stack_pool&) = delete;
    stack_pool& operator=(const stack_pool&) = delete;

    // Requires: no thread runs on a stack of this pool.
    ~stack_pool();

    // Returns the smallest class from lowest up with at least size usable bytes (0: the default),
    // or -1.
    [[nodiscard]] int class_for(std::size_t size, int lowest = 0) const noexcept;
    [[nodiscard]] std::size_t usable_size(int size_class) const noexcept;

    // Takes n credits for class 0. Returns 0, or an errno value without taking any.
    [[nodiscard]] int reserve(uint32_t n) noexcept;

    // Raises cache_reserve. Returns as reserve.
    [[nodiscard]] int reserve_for_caches(uint32_t more) noexcept;
    void unreserve_for_caches(uint32_t fewer) noexcept;

    void unreserve(uint32_t n) noexcept;

    // Takes a class 0 stack for a credit. Cannot fail (I1).
    [[nodiscard]] stack* take() noexcept;

    // Takes up to n reused class 0 stacks, for a P's cache.
    [[nodiscard]] fifo<stack> take_reused(uint32_t n) noexcept;

    // Returns nullptr if error, an errno value, is set.
    [[nodiscard]] stack* take_large(int size_class, int& error) noexcept;

    // Returns stacks to the depot. True: the caller must have trim() called until over.
    [[nodiscard]] bool give(stack* s) noexcept;
    [[nodiscard]] bool give(fifo<stack>& batch) noexcept;  // all of class 0

    // The memory of s stays mapped, even after the pool is destroyed.
    void keep(const stack& s) noexcept;

    // Of all classes.
    [[nodiscard]] uint64_t mapped() noexcept;

    // Returns the stack whose slot contains address, or nullptr, and whether address is in its
    // guard. Takes no lock: for the fault handler.
    [[nodiscard]] stack* find(const void* address, bool& in_guard) noexcept;

    // Calls visit for each mapped slab. Takes no lock: for the child of a fork.
    void for_each_slab(void (*visit)(void* closure, const slab& s) noexcept, void* closure) const noexcept;

    // Commits pages if their lack made the instruction at pc fault at address in s. Takes no lock,
    // keeps errno: for the fault handler.
    [[nodiscard]] growth grow(stack& s, const void* address, const void* pc) noexcept;

    // Does a part of a round (trim.cc): about most stacks, some microseconds each. A concurrent
    // call only sets more.
    trimming trim(uint32_t most) noexcept;

    // Discards all pages of s but its record's. Returns their resident bytes. Requires: s is
    // unused.
    std::size_t discard_depth(stack& s) noexcept;

    [[nodiscard]] uint64_t trimmed_bytes() const noexcept { return trimmed_bytes_.load(relaxed_count); }

    [[nodiscard]] uint64_t unmapped() const noexcept { return unmapped_.load(relaxed_count); }

    [[nodiscard]] stack_policy policy() const noexcept { return options_.policy; }

private:
    struct shelf {
        lifo<stack> depot;
        low_water unused;         // Lowest depot size since the last round.
        uint64_t slots = 0;       // Mapped.
        uint64_t retired = 0;     // Stacks in retired lists.
        uint32_t surplus = 0;     // Stacks that this round must still retire.
        slab* carving = nullptr;  // No older slab has a blank slot; nullptr: none has.
        slab* taking = nullptr;   // No older slab has a retired stack; nullptr: none has.
    };

    [[nodiscard]] std::byte* map_slots(std::size_t stride, uint32_t& slots) const noexcept;
    [[nodiscard]] std::size_t stride_of(int size_class) const noexcept;
    [[nodiscard]] uint32_t committed_at_first() const noexcept;
    [[nodiscard]] bool guard_slots(slab& s) const noexcept;
    [[nodiscard]] int map_slab_locked(uint8_t size_class, uint32_t slots) noexcept WEFT_REQUIRES(lock_);
    [[nodiscard]] slab* describe_locked(uint8_t size_class, uint32_t slots) noexcept WEFT_REQUIRES(lock_);
    [[nodiscard]] stack* pop_locked(int size_class) noexcept WEFT_REQUIRES(lock_);
    [[nodiscard]] stack* pop_retired_locked(int size_class) noexcept WEFT_REQUIRES(lock_);
    [[nodiscard]] stack* carve_locked(int size_class) noexcept WEFT_REQUIRES(lock_);
    [[nodiscard]] slab* slab_of_locked(const void* address) noexcept WEFT_REQUIRES(lock_);
    [[nodiscard]] uint64_t spare_locked() const noexcept WEFT_REQUIRES(lock_);
    [[nodiscard]] bool tell_locked() noexcept WEFT_REQUIRES(lock_);

    // trim.cc
    void begin_round_locked() noexcept WEFT_REQUIRES(lock_);
    [[nodiscard]] bool end_round_locked() noexcept WEFT_REQUIRES(lock_);
    void retire_locked(uint32_t most) noexcept WEFT_REQUIRES(lock_);
    [[nodiscard]] bool give_back_locked(uint32_t most, trimming& done) noexcept WEFT_REQUIRES(lock_);
    [[nodiscard]] slab* next_to_leave_locked() noexcept WEFT_REQUIRES(lock_);
    void empty_part(uint32_t most, trimming& done) noexcept;
    void unmap(slab& s) noexcept;
    [[nodiscard]] slab* next_to_blank_locked() const noexcept WEFT_REQUIRES(lock_);
    [[nodiscard]] bool blank_some_locked(slab& s, uint32_t most, trimming& done) noexcept WEFT_REQUIRES(lock_);
    [[nodiscard]] bool blank(stack& one, std::byte* end, trimming& done) noexcept;

    options options_;

    ranked_lock<lock_rank::leaf> lock_;
    // Guarded by lock_.
    shelf shelves_[stack_classes] WEFT_GUARDED_BY(lock_);
    uint64_t credits_ WEFT_GUARDED_BY(lock_) = 0;    // of class 0
    low_water spare_ WEFT_GUARDED_BY(lock_);         // lowest spare_locked() since the last round of trim()
    bool watched_ WEFT_GUARDED_BY(lock_);            // trim() is being called
    slab* last_ WEFT_GUARDED_BY(lock_) = nullptr;    // the youngest slab
    slab* looked_ WEFT_GUARDED_BY(lock_) = nullptr;  // where slab_of_locked() last found a stack

    // Owned by the trim() call that has set trims_.
    atomic<bool> trims_{false};
    bool in_round_ = false;
    uint64_t may_leave_ = 0;     // class 0 slots that may still be unmapped
    slab* leaving_ = nullptr;    // the slab being emptied, then unmapped …
    uint32_t leaving_from_ = 0;  // … done up to this slot

    // The oldest slab. Written under lock_; the fault handler reads it without.
    atomic<slab*> slabs_{nullptr};
    atomic<uint64_t> trimmed_bytes_{0};
    atomic<uint64_t> unmapped_{0};
};

// Bytes from the high end of s to its lowest resident page. For any stack that stays mapped.
[[nodiscard]] std::size_t touched_bytes(const stack& s) noexcept;

// Requires: s has a canary.
[[nodiscard]] bool canary_intact(const stack& s) noexcept;

// Refuses guard regions, and write protection unless write_protection is set. Allows at most
// protections_allowed mprotect guards (-1: the system's limit).
void refuse_guard_regions_for_test(bool refuse, int protections_allowed, bool write_protection = false) noexcept;

}  // namespace weft::detail
