// order.cc: see order.h.
#include "sim/order.h"

#include <algorithm>

namespace weft::sim {

void order::clear() noexcept {
    green_threads_.clear();
    objects_.clear();
    values_.clear();
}

void order::join(clock& into, const clock& from) {
    if (into.size() < from.size()) into.resize(from.size());
    for (std::size_t i = 0; i < from.size(); ++i) into[i] = std::max(into[i], from[i]);
}

order::clock& order::of(uint32_t g) {
    if (g >= green_threads_.size()) green_threads_.resize(g + 1);
    clock& c = green_threads_[g];
    if (c.size() <= g) c.resize(g + 1);
    if (c[g] == 0) c[g] = 1;
    return c;
}

void order::operate(uint32_t g, const void* object) {
    clock& mine = of(g);
    clock& its = objects_[object];
    join(mine, its);
    join(its, mine);
    ++mine[g];
}

void order::make_runnable(uint32_t g, uint32_t other) {
    if (g == other) return;
    static_cast<void>(of(std::max(g, other)));  // makes room: references stay valid
    clock& mine = of(g);
    join(of(other), mine);
    ++mine[g];
}

bool order::is_before(const access& a, const clock& now) noexcept { return a.g < now.size() && now[a.g] >= a.count; }

const order::access* order::note(uint32_t g, const void* value, bool writes, const std::source_location& where) {
    const clock& now = of(g);
    std::vector<access>& all = values_[value];
    for (const access& a : all)
        if (a.g != g && (writes || a.writes) && !is_before(a, now)) return &a;
    // What happened before a write cannot race with anything that does not race with the write.
    if (writes) all.clear();
    std::erase_if(all, [g](const access& a) { return a.g == g && !a.writes; });
    all.push_back({g, now[g], writes, where});
    return nullptr;
}

}  // namespace weft::sim
