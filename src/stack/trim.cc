// trim.cc: the deep pages of stacks that nobody uses go back to the system.
//
// The problem. A page that was touched stays with its stack, and stacks are reused for ever. After a burst of deep calls a thousand pooled
// stacks keep all that memory, though what runs on them later may need a page each.
//
// What is trimmed is what was not needed: the pool remembers the fewest stacks that lay in the depot since the call before. So many were
// surplus all the time, and that many are trimmed, from the top of the depot: which ones makes no difference, since those that are left
// are enough for what was going on. Trimmed stacks are a list of their own, taken last, and are not looked at again: an idle runtime's
// calls cost a lock and nothing else. While trim() works on stacks it has them in its hands: trimmed_at_once at most, which the reserve
// for caches includes, so that the promise behind credits (I1) holds all the while.
//
// The stacks stay mapped, and keep the page at their top; a growing one is as it was at first. Never below a live stack pointer: a stack in
// the depot has none. Those in the caches of Ps are not in the depot; see sched/trim.h.
//
// Rejected. Trimming when a stack is given back: a system call on the way, and the pages are wanted again at once by those who go on
// doing the same. MADV_FREE: memory goes back when the system runs short, so nobody sees that it can. A mark at the depth that was
// reached: frames do not leave one.
#include <algorithm>
#include <cstdint>

#include "os/commit.h"
#include "os/os.h"
#include "stack/slab.h"
#include "stack/stack.h"

namespace weft::detail {

namespace {

// Bytes of s below the page that its record lies in.
std::size_t below_record(const stack& s) noexcept { return s.size() / os::page_size() * os::page_size(); }

// Bytes of s that a growing one begins without.
std::size_t beyond_initial(const stack& s) noexcept {
    const std::size_t page = os::page_size();
    const std::size_t whole = (s.size() + sizeof(stack) + page - 1) / page * page;
    const std::size_t initial = (stack_initial + page - 1) / page * page;
    return whole - initial;
}

}  // namespace

std::size_t touched_bytes(const stack& s) noexcept {
    const std::size_t page = os::page_size();
    // A look at a canary maps its page.
    const std::size_t skipped = s.guard == guard_kind::canary ? page : 0;
    // What cannot be accessed was never touched. relaxed: a look
    const std::size_t begin = std::max<std::size_t>(skipped, s.uncommitted.load(relaxed));
    const std::size_t size = (s.size() + sizeof(stack) + page - 1) / page * page;
    return s.size() - std::min(s.size(), begin + os::absent_bytes(s.low + begin, size - begin));
}

std::size_t stack_pool::discard_depth(stack& s) noexcept {
    const std::size_t kept = s.size() - below_record(s);
    const std::size_t touched = touched_bytes(s);
    std::size_t begin = s.uncommitted.load(relaxed);  // relaxed: nobody else has it
    if (options_.policy == stack_policy::growing) {
        const std::size_t deep = beyond_initial(s);
        if (begin < deep && os::decommit_pages(s.low + begin, deep - begin)) {
            s.uncommitted.store(static_cast<uint32_t>(deep), relaxed);  // relaxed: as above
            begin = deep;
        }
    }
    if (touched <= kept) return 0;
    if (begin < below_record(s) && !os::discard_pages(s.low + begin, below_record(s) - begin)) return 0;
    return touched - kept;
}

// Stacks of the class that were surplus since the last call.
fifo<stack> stack_pool::take_idle_locked(int size_class, uint32_t most) noexcept {
    const uint32_t n = std::min({most, unused_[size_class], trimmed_at_once});
    fifo<stack> batch;
    move_front(depot_[size_class], batch, n);
    unused_[size_class] -= n;
    return batch;
}

trimming stack_pool::trim(uint32_t most) noexcept {
    trimming done;
    for (int c = 0; c < stack_classes; ++c) {
        for (;;) {
            lock_.lock();
            fifo<stack> batch = take_idle_locked(c, most - done.stacks);
            if (batch.empty()) {
                if (unused_[c] != 0 && done.stacks == most) done.more = true;
                if (!done.more) unused_[c] = depot_[c].size();
                lock_.unlock();
                break;
            }
            lock_.unlock();
            lifo<stack> flat;
            while (stack* s = batch.pop_front()) {
                done.bytes += discard_depth(*s);
                ++done.stacks;
                flat.push(s);
            }
            lock_.lock();
            while (stack* s = flat.pop()) trimmed_[c].push(s);
            lock_.unlock();
        }
    }
    trimmed_bytes_.fetch_add(done.bytes, relaxed);  // relaxed: statistics
    return done;
}

}  // namespace weft::detail
