#include "backends.h"

#include <algorithm>

namespace reverse_proxy {

backends::backends(const options& how) {
    for (const std::string& address : how.backends) {
        all_.push_back(std::make_unique<backend>(address, how.allowed, how.health));
    }
}

backend* backends::choose(std::span<backend* const> tried) {
    backend* best = nullptr;
    const std::size_t first = turn_++;
    for (std::size_t i = 0; i < all_.size(); ++i) {
        backend* const b = all_[(first + i) % all_.size()].get();
        if (std::find(tried.begin(), tried.end(), b) != tried.end()) continue;
        const bool is_better = best == nullptr || (b->is_up() && !best->is_up()) ||
                               (b->is_up() == best->is_up() && b->load() < best->load());
        if (is_better) best = b;
    }
    return best;
}

}  // namespace reverse_proxy
