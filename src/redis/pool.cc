// pool.cc: see pool.h.
#include "redis/pool.h"

#include <mutex>
#include <stdexcept>
#include <string>
#include <utility>

namespace weft::redis::detail {

namespace {

client_options checked_options(client_options how) {
    const auto need = [](bool is_good, const char* what) {
        if (!is_good) throw std::invalid_argument(std::string("weft: redis::client_options::") + what);
    };
    need(!how.address.empty() || how.connect, "address is empty: write HOST:PORT, or the path of a Unix socket");
    need(how.connect_time.count() > 0, "connect_time must be more than 0");
    need(how.reply_time.count() > 0, "reply_time must be more than 0");
    need(how.connections_max > 0, "connections_max must be more than 0");
    need(how.database >= 0, "database must not be negative");
    need(how.user.empty() || !how.password.empty(), "user needs a password");
    return how;
}

}  // namespace

pool::pool(client_options how)
    : how_(checked_options(std::move(how))), places_(static_cast<std::ptrdiff_t>(how_.connections_max)) {}

std::unique_ptr<connection> pool::borrow() {
    places_.acquire();
    try {
        std::unique_ptr<connection> c = take_idle();
        while (c && !c->is_still_there()) c = take_idle();
        if (!c) c = std::make_unique<connection>(how_);
        const std::lock_guard<weft::mutex> locked(lock_);
        idle_.reserve(used_ + idle_.size() + 1);  // so that give_back() cannot fail
        ++used_;
        return c;
    } catch (...) {
        places_.release();
        throw;
    }
}

std::unique_ptr<connection> pool::take_idle() {
    const std::lock_guard<weft::mutex> locked(lock_);
    if (idle_.empty()) return nullptr;
    std::unique_ptr<connection> c = std::move(idle_.back());
    idle_.pop_back();
    return c;
}

void pool::give_back(std::unique_ptr<connection> c) noexcept {
    {
        const std::lock_guard<weft::mutex> locked(lock_);
        --used_;
        if (c->is_reusable()) idle_.push_back(std::move(c));
    }
    c.reset();
    places_.release();
}

client_stats pool::stats() const {
    const std::lock_guard<weft::mutex> locked(lock_);
    return {.connections = used_ + idle_.size(), .idle = idle_.size()};
}

}  // namespace weft::redis::detail
