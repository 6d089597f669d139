#include "rooms.h"

#include <algorithm>
#include <cstdio>
#include <mutex>

namespace websocket_chat {

using guard = std::lock_guard<weft::mutex>;

void member::hear(frame f) const {
    if (queue_.try_send(std::move(f)) != weft::chan_status::would_block) return;
    std::fprintf(stderr, "websocket_chat: %s reads too slowly and is disconnected\n", name_.c_str());
    cut_off_();
}

bool rooms::enter(const std::string& room, const member& who) {
    const guard locked(lock_);
    std::vector<const member*>& all = members_[room];
    const auto is_namesake = [&](const member* m) { return m->name() == who.name(); };
    if (std::any_of(all.begin(), all.end(), is_namesake)) return false;
    all.push_back(&who);
    return true;
}

void rooms::leave(const std::string& room, const member& who) {
    const guard locked(lock_);
    const auto found = members_.find(room);
    std::erase(found->second, &who);
    if (found->second.empty()) members_.erase(found);
}

void rooms::say(const std::string& room, const frame& what) {
    const guard locked(lock_);
    const auto found = members_.find(room);
    if (found == members_.end()) return;
    for (const member* const m : found->second) m->hear(what);
}

}  // namespace websocket_chat
