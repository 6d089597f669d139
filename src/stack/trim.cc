// trim.cc: returns the memory of unneeded stacks to the system.
//
// A round:
//
//   1  begin    surplus = the depot's low-water mark. That of uncredited slots limits how many may
//               be unmapped.
//   2  retire   moves the surplus to the retired lists of its slabs. take() gets these after the
//               depot, oldest slab first, so that stacks in use gather in few slabs.
//   3  unmap    a slab with only retired stacks leaves: its slots no longer count (I1), and no
//               thread can reach its stacks. Its pages are discarded in parts, because a thousand
//               stacks take a millisecond. Largest slab first, so that the reserve keeps a small
//               one.
//   4  blank    in other slabs, each retired stack loses all its pages, also the record's.
//   5  end      the marks restart.
//
// Stacks being blanked are in no list; the reserve for caches includes those trimmed_at_once (I1).
//
// If the system refuses to discard pages (mlockall), or to decommit (limit of mappings), the stack
// returns to the retired list and the round ends. unmap_pages() cannot fail.
//
// Rejected, besides docs/stacks.md: keeping the page with the record (4 GiB for a million stacks);
// records apart from stacks (one more cache line for each switch).
#include <algorithm>
#include <cstdint>
#include <utility>

#include "os/commit.h"
#include "os/os.h"
#include "stack/slab.h"
#include "stack/stack.h"

namespace weft::detail {

namespace {

std::size_t below_record(const stack& s) noexcept { return s.size() / os::page_size() * os::page_size(); }

// Not committed initially under the growing policy.
std::size_t beyond_initial(const stack& s) noexcept {
    const std::size_t page = os::page_size();
    const std::size_t whole = (s.size() + sizeof(stack) + page - 1) / page * page;
    const std::size_t initial = (stack_initial + page - 1) / page * page;
    return whole - initial;
}

std::size_t resident_bytes(const stack& s) noexcept {
    const std::size_t page = os::page_size();
    return (touched_bytes(s) + sizeof(stack) + page - 1) / page * page;
}

constexpr uint32_t retired_at_once = 64;  // under the lock, with a cache miss each
constexpr uint32_t one_measured_of = 8;   // stacks: measuring one takes as long as discarding it
constexpr uint32_t retired_for_one = 8;   // stacks: in the time that blanking one takes

}  // namespace

std::size_t touched_bytes(const stack& s) noexcept {
    const std::size_t page = os::page_size();
    // Checking a canary maps its page.
    const std::size_t skipped = s.guard == guard_kind::canary ? page : 0;
    // Uncommitted pages were never touched. relaxed: a look
    const std::size_t begin = std::max<std::size_t>(skipped, s.uncommitted.load(relaxed));
    const std::size_t size = (s.size() + sizeof(stack) + page - 1) / page * page;
    return s.size() - std::min(s.size(), begin + os::absent_bytes(s.low + begin, size - begin));
}

std::size_t stack_pool::discard_depth(stack& s) noexcept {
    const std::size_t kept = s.size() - below_record(s);
    const std::size_t touched = touched_bytes(s);
    std::size_t begin = s.uncommitted.load(relaxed_alone);
    if (options_.policy == stack_policy::growing) {
        const std::size_t deep = beyond_initial(s);
        if (begin < deep && os::decommit_stack(s.low + begin, deep - begin)) {
            s.uncommitted.store(static_cast<uint32_t>(deep), relaxed_alone);
            begin = deep;
        }
    }
    if (touched <= kept) return 0;
    if (begin < below_record(s) && !os::discard_pages(s.low + begin, below_record(s) - begin)) return 0;
    return touched - kept;
}

void stack_pool::begin_round_locked() noexcept {
    in_round_ = true;
    for (shelf& all : shelves_) all.surplus = static_cast<uint32_t>(all.unused.lowest());
    may_leave_ = spare_.lowest();
}

// Returns trimming::over.
bool stack_pool::end_round_locked() noexcept {
    in_round_ = false;
    bool over = true;
    for (shelf& all : shelves_) {
        all.unused.restart(all.depot.size());
        over = over && all.depot.empty();
    }
    const uint64_t spare = spare_locked();
    spare_.restart(spare);
    for (const slab* s = slabs_.load(relaxed_locked); s != nullptr && over; s = s->next.load(relaxed_locked)) {
        over = !s->is_unused() || s->slots > spare;
    }
    if (over && options_.trims) watched_ = false;
    return over;
}

// Step 2.
void stack_pool::retire_locked(uint32_t most) noexcept {
    for (shelf& all : shelves_) {
        all.surplus = std::min(all.surplus, all.depot.size());
        if (all.surplus == 0) continue;
        all.taking = slabs_.load(relaxed_locked);
        for (; all.surplus != 0 && most != 0; --all.surplus, --most) {
            stack* s = all.depot.pop();
            __builtin_prefetch(s->behind);
            slab_of_locked(s)->retired.push(s);
            ++all.retired;
        }
        all.unused.fell_to(all.depot.size());
    }
}

slab* stack_pool::next_to_leave_locked() noexcept {
    const uint64_t may = std::min(may_leave_, spare_locked());
    slab* largest = nullptr;
    for (slab* s = slabs_.load(relaxed_locked); s != nullptr; s = s->next.load(relaxed_locked)) {
        if (!s->is_unused() || (s->size_class == 0 && s->slots > may)) continue;
        if (largest == nullptr || s->mapped_size() > largest->mapped_size()) largest = s;
    }
    if (largest == nullptr) return nullptr;
    shelf& all = shelves_[largest->size_class];
    if (largest->size_class == 0) may_leave_ -= largest->slots;
    all.slots -= largest->slots;
    all.retired -= largest->retired.size();
    largest->retired = {};
    largest->leaves = true;
    leaving_from_ = 0;
    return largest;
}

// Step 3, for at most most slots of leaving_.
void stack_pool::empty_part(uint32_t most, trimming& done) noexcept {
    slab& s = *leaving_;
    const uint32_t end = std::min(leaving_from_ + most, s.slots);
    uint64_t sample = 0;
    for (uint32_t i = leaving_from_; i < end; ++i) {
        if (!s.is_live(i)) continue;
        stack& one = *s.record(i);
        if (done.stacks++ % one_measured_of == 0) sample = resident_bytes(one);
        done.bytes += sample;
        one.sanitizers.destroy();
    }
    os::discard_pages(s.slot(leaving_from_), s.stride * (end - leaving_from_));  // may fail: it is unmapped soon
    leaving_from_ = end;
    if (end != s.slots) return;
    leaving_ = nullptr;
    unmap(s);
}

slab* stack_pool::next_to_blank_locked() const noexcept {
    for (slab* s = slabs_.load(relaxed_locked); s != nullptr; s = s->next.load(relaxed_locked)) {
        if (!s->retired.empty()) return s;
    }
    return nullptr;
}

// Step 4, for at most most stacks of s. Returns false if the system refuses.
bool stack_pool::blank_some_locked(slab& s, uint32_t most, trimming& done) noexcept {
    shelf& all = shelves_[s.size_class];
    fifo<stack> in_hand;
    move_front(s.retired, in_hand, std::min(most, trimmed_at_once));
    all.retired -= in_hand.size();
    while (stack* one = in_hand.pop_front()) {
        const uint32_t index = s.index_in(s.slot(0), one);
        lock_.unlock();
        const bool blanked = blank(*one, s.slot(index + 1), done);
        lock_.lock();
        if (!blanked) {
            in_hand.push_back(one);
            break;
        }
        s.set_live(index, false);
        all.carving = slabs_.load(relaxed_locked);
    }
    const bool refused = !in_hand.empty();
    if (refused) all.taking = slabs_.load(relaxed_locked);
    all.retired += in_hand.size();
    s.retired.take_all(in_hand);
    return !refused;
}

// The slot of one ends at end. Returns false if the system refuses.
bool stack_pool::blank(stack& one, std::byte* end, trimming& done) noexcept {
    const std::size_t resident = resident_bytes(one);
    if (options_.policy == stack_policy::growing) {
        const std::size_t begin = one.uncommitted.load(relaxed_alone);
        const std::size_t deep = beyond_initial(one);
        if (begin < deep && !os::decommit_stack(one.low + begin, deep - begin)) return false;
        one.uncommitted.store(static_cast<uint32_t>(deep), relaxed_alone);
    }
    one.sanitizers.destroy();
    if (!os::discard_pages(one.low, static_cast<std::size_t>(end - one.low))) {
        one.sanitizers.create(one.low, one.size());
        return false;
    }
    done.bytes += resident;
    ++done.stacks;
    return true;
}

trimming stack_pool::trim(uint32_t most) noexcept {
    trimming done;
    done.more = true;
    if (trims_.exchange(true, acquire)) return done;  // pairs with the release below
    lock_.lock();
    if (!in_round_) begin_round_locked();
    const auto has_surplus = [](const shelf& all) { return std::min(all.surplus, all.depot.size()) != 0; };
    uint32_t left = most * retired_for_one;
    while (left >= retired_at_once && std::any_of(shelves_, shelves_ + stack_classes, has_surplus)) {
        retire_locked(retired_at_once);
        left -= retired_at_once;
        lock_.unlock();  // gives other threads a chance
        lock_.lock();
    }
    if (!std::any_of(shelves_, shelves_ + stack_classes, has_surplus)) done.more = give_back_locked(most, done);
    if (!done.more) done.over = end_round_locked();
    lock_.unlock();
    trimmed_bytes_.fetch_add(done.bytes, relaxed_count);
    trims_.store(false, release);  // pairs with the acquire above
    return done;
}

// Steps 3 and 4, for at most most slots. Returns whether more is left.
bool stack_pool::give_back_locked(uint32_t most, trimming& done) noexcept {
    for (uint32_t left = most; left != 0;) {
        if (leaving_ == nullptr) leaving_ = next_to_leave_locked();
        if (leaving_ != nullptr) {
            const uint32_t begin = leaving_from_;
            const uint32_t part = std::min(left, leaving_->slots - begin);
            lock_.unlock();
            empty_part(part, done);
            lock_.lock();
            left -= part;
            continue;
        }
        slab* s = next_to_blank_locked();
        if (s == nullptr) return false;
        const uint32_t before = done.stacks;
        if (!blank_some_locked(*s, left, done)) return false;
        left -= done.stacks - before;
    }
    return true;
}

}  // namespace weft::detail
