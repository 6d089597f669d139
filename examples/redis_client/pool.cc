#include "pool.h"

#include <mutex>

namespace redis_client {

pool::lease pool::borrow() {
    places_.acquire();
    lease mine(*this);
    while (std::optional<connection> c = take_idle()) {
        if (c->is_still_there()) {
            mine.connection_ = std::move(c);
            return mine;
        }
    }
    mine.connection_.emplace(at_);
    return mine;
}

std::optional<connection> pool::take_idle() {
    const std::lock_guard<weft::mutex> locked(lock_);
    if (idle_.empty()) return std::nullopt;
    std::optional<connection> c(std::move(idle_.back()));
    idle_.pop_back();
    return c;
}

void pool::give_back(std::optional<connection> c) {
    if (c && c->is_clean()) {
        const std::lock_guard<weft::mutex> locked(lock_);
        idle_.push_back(std::move(*c));
    }
    places_.release();
}

}  // namespace redis_client
