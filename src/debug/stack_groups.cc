// stack_groups.cc: see stack_groups.h.
#include "debug/stack_groups.h"

#include <algorithm>
#include <cstring>
#include <new>

#include "os/os.h"
#include "os/vmem.h"
#include "os/whole_pages.h"

namespace weft::detail {

namespace {

// Unlike unmap_pages, it never allocates. If the system refuses, the address space stays reserved.
void return_pages(void* memory, std::size_t size) noexcept {
    if (memory != nullptr) static_cast<void>(os::release_pages(memory, os::whole_pages(size)));
}

// FNV-1a over words.
class hash {
public:
    void add(uint64_t word) noexcept { value_ = (value_ ^ word) * 0x100000001b3; }

    void add(const void* pointer) noexcept { add(reinterpret_cast<uintptr_t>(pointer)); }

    [[nodiscard]] uint64_t value() const noexcept { return value_ ^ (value_ >> 32); }

private:
    uint64_t value_ = 0xcbf29ce484222325;
};

uint64_t hash_of(const g_snapshot& g) noexcept {
    hash h;
    h.add(static_cast<uint64_t>(g.state));
    h.add(static_cast<uint64_t>(g.reason));
    h.add(uint64_t{g.flags});
    h.add(g.who.where.file_name());
    h.add(uint64_t{g.who.where.line()});
    for (int i = 0; i < g.frames.count; ++i) h.add(g.frames.pcs[i]);
    return h.value();
}

bool belong_together(const g_snapshot& a, const g_snapshot& b) noexcept {
    return a.state == b.state && a.reason == b.reason && a.flags == b.flags && a.never_ran == b.never_ran &&
           a.who.entry == b.who.entry && a.who.where.file_name() == b.who.where.file_name() &&
           a.who.where.line() == b.who.where.line() && a.frames.count == b.frames.count &&
           std::equal(a.frames.pcs, a.frames.pcs + a.frames.count, b.frames.pcs);
}

}  // namespace

stack_group::stack_group(const g_snapshot& g) noexcept
    : first(g), count(1), oldest_ns(g.since_ns), newest_ns(g.since_ns) {
    ids[0] = g.who.id;
}

void stack_group::add(const g_snapshot& g) noexcept {
    if (count < ids_max) ids[count] = g.who.id;
    ++count;
    if (g.since_ns != 0) {
        oldest_ns = oldest_ns == 0 ? g.since_ns : std::min(oldest_ns, g.since_ns);
        newest_ns = std::max(newest_ns, g.since_ns);
    }
    same_name = same_name && std::strcmp(first.who.name, g.who.name) == 0;
    same_labels =
        same_labels && first.has_labels == g.has_labels && (!g.has_labels || std::strcmp(first.labels, g.labels) == 0);
    same_parent = same_parent && first.who.parent == g.who.parent;
}

stack_groups::stack_groups() noexcept
    : table_(static_cast<table*>(os::map_pages(os::whole_pages(sizeof(table)), true))) {}

stack_groups::~stack_groups() { return_pages(table_, sizeof(table)); }

stack_group& stack_groups::group(std::size_t i) noexcept {
    return *std::launder(reinterpret_cast<stack_group*>(table_->groups[i]));
}

bool stack_groups::add(const g_snapshot& g) noexcept {
    if (table_ == nullptr) return false;
    for (std::size_t slot = hash_of(g) % slots;; slot = (slot + 1) % slots) {  // ends: half of the slots are free
        uint32_t& entry = table_->group_of_slot[slot];
        if (entry == 0) {
            if (count_ == groups_max) return false;
            ::new (table_->groups[count_]) stack_group(g);
            entry = static_cast<uint32_t>(++count_);
            return true;
        }
        stack_group& there = group(entry - 1);
        if (!belong_together(there.first, g)) continue;
        there.add(g);
        return true;
    }
}

std::span<const stack_group* const> stack_groups::sorted() noexcept {
    if (table_ == nullptr) return {};
    for (std::size_t i = 0; i < count_; ++i) table_->order[i] = &group(i);
    std::sort(table_->order, table_->order + count_, [](const stack_group* a, const stack_group* b) {
        return a->count != b->count ? a->count > b->count : a->ids[0] < b->ids[0];
    });
    return {table_->order, count_};
}

family::family(std::size_t members) noexcept
    : members_(members == 0 ? nullptr
                            : static_cast<member*>(os::map_pages(os::whole_pages(members * sizeof(member)), true))),
      room_(members) {}

family::~family() { return_pages(members_, room_ * sizeof(member)); }

void family::add(const identity& who) noexcept {
    if (members_ == nullptr || count_ == room_) return;
    ::new (&members_[count_++]) member{who.id, who.parent, who.where};
}

void family::sort() noexcept {
    if (members_ == nullptr) return;
    std::sort(members_, members_ + count_, [](const member& a, const member& b) { return a.id < b.id; });
}

const family::member* family::find(uint64_t id) const noexcept {
    if (members_ == nullptr) return nullptr;
    const member* end = members_ + count_;
    const member* at = std::lower_bound(static_cast<const member*>(members_), end, id,
                                        [](const member& m, uint64_t wanted) { return m.id < wanted; });
    return at != end && at->id == id ? at : nullptr;
}

}  // namespace weft::detail
