// grow.cc: stacks that are committed step by step, by the fault handler.
//
// The problem. Where a system does not overcommit (vm.overcommit_memory=2), a writable mapping counts as memory in full, so a thousand
// stacks of 256 KiB would take 256 MiB of the budget and touch four. So a growing stack is writable only as far as it has
// been used. The first access below that faults; the handler, on the M's alternate signal stack, makes more of it writable, and
// the instruction is tried again.
//
// Ahead. A system call that writes to a page without access does not fault: it fails with EFAULT. A buffer on the stack is such a page if
// nobody has touched it yet. So at least growth_step is committed below a page that faulted; code compiled with
// -fstack-clash-protection touches every page of a frame as it enters a function, so that its buffers are committed too.
//
// The word. uncommitted only falls while the stack is bound. Two threads may fault in one stack, when the owner has passed a pointer into
// a frame that it has not touched: both commit, which does no harm, and each lowers the word. The later of the two may find
// its address committed already. Then the access is tried again if it would succeed now; else the fault is somebody else's.
//
// Rejected. MAP_GROWSDOWN: the kernel grows it into the neighbour, and not at all for other threads' stacks. userfaultfd: a thread that
// answers, or no growth at all where the process may not create one.
#include <algorithm>
#include <cstdint>

#include "os/commit.h"
#include "os/os.h"
#include "stack/slab.h"
#include "stack/stack.h"

namespace weft::detail {

growth stack_pool::grow(stack& s, const void* address, const void* pc) noexcept {
    if (options_.policy != stack_policy::growing || address == pc || !s.holds(address)) return growth::none;
    if (s.owner == nullptr) return growth::none;  // a pooled stack: nobody's business
    const auto offset = static_cast<uint32_t>(static_cast<const std::byte*>(address) - s.low);
    uint32_t uncommitted = s.uncommitted.load(acquire);  // pairs with the release below
    if (offset >= uncommitted) return os::is_readable(address) ? growth::grown : growth::none;
    const auto page = static_cast<uint32_t>(os::page_size());
    const uint32_t faulted = offset / page * page;
    const uint32_t ahead = faulted - std::min<uint32_t>(faulted, growth_step);
    uint32_t to = ahead;
    if (os::commit_pages(s.low + to, uncommitted - to) != 0) {
        to = faulted;  // what must be
        if (os::commit_pages(s.low + to, uncommitted - to) != 0) return growth::refused;
    }
    // release: pairs with the acquire above; relaxed: tried again
    while (uncommitted > to && !s.uncommitted.compare_exchange_weak(uncommitted, to, release, relaxed)) {}
    return growth::grown;
}

}  // namespace weft::detail
