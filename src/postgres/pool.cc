// pool.cc: see pool.h.
#include "postgres/pool.h"

#include <exception>
#include <mutex>
#include <stdexcept>
#include <string>
#include <utility>

namespace weft::postgres::detail {

namespace {

client_options checked_options(client_options how) {
    const auto need = [](bool is_good, const char* what) {
        if (!is_good)
            throw std::invalid_argument(std::string("weft: postgres::client_options::") + what +
                                        " must be more than 0");
    };
    need(how.connect_time.count() > 0, "connect_time");
    need(how.cancel_time.count() > 0, "cancel_time");
    need(how.connections_max > 0, "connections_max");
    return how;
}

}  // namespace

pool::pool(client_options how)
    : how_(checked_options(std::move(how))), places_(static_cast<std::ptrdiff_t>(how_.connections_max)) {}

pool::~pool() { cleaning_.wait(); }

std::unique_ptr<connection> pool::borrow() {
    places_.acquire();
    try {
        std::unique_ptr<connection> c = take_idle();
        while (c && !c->is_still_there()) c = take_idle();
        if (!c) c = std::make_unique<connection>(how_);
        const std::lock_guard<weft::mutex> locked(lock_);
        idle_.reserve(used_ + idle_.size() + 1);  // so that keep_or_close() cannot fail
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
    if (!c->is_clean() && !c->is_broken()) {
        connection* const dirty = c.release();
        try {
            cleaning_.go({.name = "postgres clean up"}, [this, dirty] {
                std::unique_ptr<connection> mine(dirty);
                static_cast<void>(mine->clean_up());
                keep_or_close(std::move(mine));
            });
        } catch (const std::exception&) {
            keep_or_close(std::unique_ptr<connection>(dirty));  // there is no stack: it is closed
        }
        return;
    }
    keep_or_close(std::move(c));
}

void pool::keep_or_close(std::unique_ptr<connection> c) noexcept {
    {
        const std::lock_guard<weft::mutex> locked(lock_);
        --used_;
        if (c->is_clean()) idle_.push_back(std::move(c));
    }
    c.reset();
    places_.release();
}

client_stats pool::stats() const {
    const std::lock_guard<weft::mutex> locked(lock_);
    return {.connections = used_ + idle_.size(), .idle = idle_.size()};
}

}  // namespace weft::postgres::detail
