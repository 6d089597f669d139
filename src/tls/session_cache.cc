// session_cache.cc: see session_cache.h.
#include "tls/session_cache.h"

#include <algorithm>
#include <mutex>
#include <utility>

namespace weft::tls::detail {

// Entries that leave the list are destroyed after the lock is released.

session_handle session_cache::take(std::string_view host) noexcept {
    std::list<entry> taken;
    {
        const std::lock_guard guard(lock_);
        const auto found =
            std::find_if(entries_.begin(), entries_.end(), [&](const entry& e) { return e.host == host; });
        if (found != entries_.end()) taken.splice(taken.begin(), entries_, found);
    }
    return taken.empty() ? nullptr : std::move(taken.front().session);
}

void session_cache::keep(std::string_view host, session_handle session) {
    std::list<entry> fresh;
    fresh.push_back({std::string(host), std::move(session)});
    std::list<entry> gone;
    const std::lock_guard guard(lock_);
    const auto older = std::find_if(entries_.begin(), entries_.end(), [&](const entry& e) { return e.host == host; });
    if (older != entries_.end()) gone.splice(gone.begin(), entries_, older);
    entries_.splice(entries_.begin(), fresh);
    if (entries_.size() > most_) gone.splice(gone.begin(), entries_, std::prev(entries_.end()));
}

}  // namespace weft::tls::detail
