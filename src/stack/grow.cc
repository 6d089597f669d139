// grow.cc: commits stacks step by step, from the fault handler.
//
// Problem: without overcommit (vm.overcommit_memory=2) the system charges a writable mapping in
// full. A thousand stacks of 256 KiB would cost 256 MiB and touch 4. So a growing stack is writable
// only down to the depth used so far. An access below faults. The handler, on the M's alternate
// signal stack, makes more of it writable, and the instruction runs again.
//
// Committing ahead: a system call that writes to an inaccessible page, such as an untouched buffer
// on the stack, fails with EFAULT instead of faulting. So at least growth_step is committed below a
// page that faulted. Code compiled with -fstack-clash-protection touches every page of a frame on
// function entry, which commits its buffers.
//
// While the stack is bound, uncommitted only falls. Two threads may fault in one stack, if the
// owner has shared a pointer into an untouched frame. Both commit, which is harmless, and lower the
// word. The later one may find its address committed. If the access would succeed now, it is tried
// again; otherwise the fault has another cause.
//
// Rejected:
// - MAP_GROWSDOWN: the kernel grows it into the neighbour, and not at all for stacks of other
//   threads.
// - userfaultfd: needs a thread that answers, and a process that is allowed to create one.
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
    if (os::commit_pages(s.low + to, uncommitted - to) != 0) {
        to = faulted;  // the minimum
        if (os::commit_pages(s.low + to, uncommitted - to) != 0) return growth::refused;
    }
    // release: pairs with the acquire above; relaxed: tried again
    while (uncommitted > to && !s.uncommitted.compare_exchange_weak(uncommitted, to, release, relaxed)) {}
    return growth::grown;
}

}  // namespace weft::detail
