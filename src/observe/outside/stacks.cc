// stacks.cc: see stacks.h.
#include "observe/outside/stacks.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "observe/outside/registers.h"

namespace weft::observe::detail {

namespace {

constexpr uint64_t user_address = (uint64_t{1} << 48) - 1;  // without the signature of AArch64's return addresses

}  // namespace

bool stacks::is_same(const chain& c, const std::byte* window) noexcept {
    for (std::size_t i = 0; i < c.slots.size(); ++i) {
        uint64_t word = 0;
        std::memcpy(&word, window + c.slots[i], sizeof(word));
        if ((word & user_address) != c.pcs[i + 1]) return false;
    }
    return true;
}

std::vector<const chain*> stacks::of(std::span<const seen_g> gs) {
    std::vector<const chain*> all(gs.size(), nullptr);
    std::vector<std::size_t> parked;
    for (std::size_t i = 0; i < gs.size(); ++i) {
        if (gs[i].is_parked()) parked.push_back(i);
    }
    for (std::size_t i = 0; i < parked.size(); i += at_once) {
        compare(gs, std::span(parked).subspan(i, std::min(at_once, parked.size() - i)), all);
    }
    for (const std::size_t i : parked) {
        if (all[i] == nullptr) all[i] = find(gs[i]);
    }
    return all;
}

// With the first candidate of each.
void stacks::compare(std::span<const seen_g> gs, std::span<const std::size_t> which, std::vector<const chain*>& into) {
    std::vector<target_memory::piece> pieces;
    std::vector<std::pair<std::size_t, const chain*>> expected;
    std::size_t size = 0;
    for (const std::size_t i : which) {
        const auto found = candidates_.find(shape_of(gs[i]));
        if (found == candidates_.end() || found->second.empty()) continue;
        const chain* c = found->second.front();
        expected.emplace_back(i, c);
        pieces.push_back({gs[i].sp, nullptr, c->window()});
        size += c->window();
    }
    windows_.resize(size);
    std::size_t at = 0;
    for (target_memory::piece& p : pieces) {
        p.into = &windows_[at];
        at += p.size;
    }
    memory_.read_each(pieces);
    for (std::size_t i = 0; i < pieces.size(); ++i) {
        const auto& [g, c] = expected[i];
        if (pieces[i].done == pieces[i].size && is_same(*c, static_cast<const std::byte*>(pieces[i].into))) into[g] = c;
    }
}

const chain* stacks::find(const seen_g& g) {
    std::vector<const chain*>& candidates = candidates_[shape_of(g)];
    for (const chain* c : candidates) {
        windows_.resize(c->window());
        if (memory_.read(g.sp, windows_.data(), windows_.size()) == windows_.size() && is_same(*c, windows_.data()))
            return c;
    }
    unwound found;
    if (unwound_count_ < unwound_max) {
        ++unwound_count_;
        found = code_.unwind({g.sp, g.pc, g.fp}, frames_max);
    }
    if (!found.is_whole && found.pcs.size() < frames_max) {
        unwound other = follow_frame_pointers(g);
        if (other.pcs.size() > found.pcs.size()) found = std::move(other);
    }
    const chain* c = add(std::move(found), g.sp);
    const bool is_new = std::find(candidates.begin(), candidates.end(), c) == candidates.end();
    if (is_new && !c->slots.empty() && candidates.size() < candidates_max) candidates.push_back(c);
    return c;
}

const chain* stacks::of_thread(const thread_registers& at) {
    if (at.pc == 0 || at.sp == 0) return nullptr;
    unwound found = code_.unwind(at, frames_max);
    return found.pcs.empty() ? nullptr : add(std::move(found), at.sp);
}

const chain* stacks::add(unwound found, uint64_t sp) {
    auto c = std::make_unique<chain>();
    c->number = numbers_.try_emplace(found.pcs, static_cast<uint32_t>(numbers_.size())).first->second;
    c->is_cut = found.pcs.size() >= frames_max;
    c->is_whole = found.is_whole;
    uint64_t last = sp;
    for (const uint64_t slot : found.slots) {
        // On another stack, or far away.
        if (slot < last || slot - sp > window_max) {
            c->slots.clear();
            break;
        }
        c->slots.push_back(static_cast<uint32_t>(slot - sp));
        last = slot + 1;
    }
    c->pcs = std::move(found.pcs);
    chains_.push_back(std::move(c));
    return chains_.back().get();
}

// As read_frames() in lifecycle/read_frames.cc.
unwound stacks::follow_frame_pointers(const seen_g& g) {
    unwound found;
    found.pcs.push_back(g.pc);
    constexpr std::size_t stacks_max = 16;
    uint64_t at = g.fp - own_registers.record_below_fp;
    uint64_t lowest = g.sp;
    uint64_t stack = g.stack;
    for (std::size_t n = 0; n < stacks_max && stack != 0; ++n) {
        const green_threads::stack_end end = gs_.end_of(stack);
        while (found.pcs.size() < frames_max && at >= lowest && at <= end.highest && at % sizeof(uint64_t) == 0) {
            uint64_t record[2];  // the frame outside, the return address
            if (!memory_.get(at, record) || record[1] == 0) return found;
            found.pcs.push_back(record[1] & user_address);
            found.slots.push_back(at + sizeof(uint64_t));
            lowest = at + 1;
            at = record[0] - own_registers.record_below_fp;
        }
        stack = end.next;
        lowest = 0;
    }
    return found;
}

}  // namespace weft::observe::detail
