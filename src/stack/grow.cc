// grow.cc: commits stacks step by step, from the fault handler.
//
// A growing stack is writable only down to the depth used so far, because without overcommit the
// system charges the rest in full. On a fault below, the handler commits at least growth_step more:
// a system call that writes to an uncommitted page fails with EFAULT instead of faulting.
//
// While the stack is bound, uncommitted only falls. Two threads may fault in one stack, if the
// owner has shared a pointer into an untouched frame. Both commit, which is harmless. The later one
// may find its address readable, and tries the access again.
//
// Rejected: MAP_GROWSDOWN (it grows into the neighbour, and not for stacks of other threads);
// userfaultfd (it needs a thread that answers, and permission).
#include <algorithm>
#include <cstdint>

#include "os/commit.h"
#include "os/os.h"
#include "stack/slab.h"
#include "stack/stack.h"

namespace weft::detail {

growth stack_pool::grow(stack& s, const void* address, const void* pc) noexcept {
    if (options_.policy != stack_policy::growing || address == pc || !s.holds(address)) return growth::none;
    if (s.owner == nullptr) return growth::none;  // a pooled stack does not grow
    const auto offset = static_cast<uint32_t>(static_cast<const std::byte*>(address) - s.low);
    uint32_t uncommitted = s.uncommitted.load(acquire);  // pairs with the release below
    if (offset >= uncommitted) return os::is_readable(address) ? growth::grown : growth::none;
    const auto page = static_cast<uint32_t>(os::page_size());
    const uint32_t faulted = offset / page * page;
    const uint32_t ahead = faulted - std::min<uint32_t>(faulted, growth_step);
    uint32_t to = ahead;
    if (os::commit_stack(s.low + to, uncommitted - to) != 0) {
        to = faulted;
        if (os::commit_stack(s.low + to, uncommitted - to) != 0) return growth::refused;
    }
    // release: pairs with the acquire above; relaxed: tried again
    while (uncommitted > to && !s.uncommitted.compare_exchange_weak(uncommitted, to, release, relaxed)) {}
    return growth::grown;
}

}  // namespace weft::detail
