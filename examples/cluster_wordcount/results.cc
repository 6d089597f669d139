#include "results.h"

#include <utility>

namespace cluster_wordcount {

bool results::expect(const chunk_name& name) {
    cut_.push_back({name.second, state::expected});  // numbers follow each other
    const auto found = early_.find(name);
    if (found == early_.end()) return true;
    merge(found->second);
    early_.erase(found);
    return false;
}

results::answer results::take(chunk_result&& r) {
    const auto [number, digest] = r.of;
    if (number >= cut_.size()) {
        if (r.failure.empty()) early_.try_emplace(r.of, std::move(r));
        return answer::ignored;
    }
    if (cut_[number].digest != digest || cut_[number].is == state::counted) return answer::ignored;
    if (!r.failure.empty()) return answer::failed;
    merge(r);
    return answer::merged;
}

void results::merge(const chunk_result& r) {
    cut_[r.of.first].is = state::counted;
    ++merged_;
    redelivered_ += r.deliveries - 1;
    totals_.add(r.totals);
    words_.add_all(r.words);
}

}  // namespace cluster_wordcount
