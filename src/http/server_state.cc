// server_state.cc: see server_state.h.
#include "http/server_state.h"

#include <cstdio>
#include <exception>
#include <memory>
#include <mutex>
#include <new>
#include <stdexcept>
#include <system_error>
#include <utility>

#include <weft/cancel.h>
#include <weft/error.h>
#include <weft/time.h>

#include "http/connection.h"
#include "http/exchange.h"
#include "http/later.h"

namespace weft::http::detail {

using guard = std::lock_guard<weft::mutex>;

namespace {

constexpr std::chrono::milliseconds pause_after_failure{100};

void check_limits(const server_options& how) {
    using namespace std::chrono_literals;
    const auto need = [](bool is_good, const char* name) {
        if (!is_good)
            throw std::invalid_argument(std::string("weft: http::server_options::") + name + " must be more than 0");
    };
    need(how.header_max != 0, "header_max");
    need(how.connections_max != 0, "connections_max");
    need(how.http2_streams_max != 0, "http2_streams_max");
    need(how.header_time > 0ns, "header_time");
    need(how.body_time > 0ns, "body_time");
    need(how.idle_time > 0ns, "idle_time");
    need(how.write_time > 0ns, "write_time");
    if (how.handler_time < 0ns)
        throw std::invalid_argument("weft: http::server_options::handler_time must not be negative");
}

// A line on stderr for what has left a connection.
void print_why_closed(const std::exception_ptr& e) noexcept {
    try {
        std::rethrow_exception(e);
    } catch (const std::bad_alloc&) {
        std::fputs("weft: http: closed a connection: no memory\n", stderr);
    } catch (const std::exception& known) {
        std::fprintf(stderr, "weft: http: closed a connection: %s\n", known.what());
    } catch (...) {
        std::fputs("weft: http: closed a connection: an exception that is no std::exception\n", stderr);
    }
}

}  // namespace

place::place(server_state& of, transport& client, client_watch& watch) : of_(of), client_(client), watch_(watch) {
    const guard locked(of_.lock_);
    of_.places_.insert(this);
}

place::~place() {
    const guard locked(of_.lock_);
    of_.places_.erase(this);
}

bool place::begin_idle(std::chrono::nanoseconds time) {
    const guard locked(lock_);
    if (of_.is_ending()) return false;
    client_.set_read_deadline(later(std::chrono::steady_clock::now(), time));
    is_idle_ = true;
    return true;
}

void place::end_idle() {
    const guard locked(lock_);
    is_idle_ = false;
}

void place::drain_by(drain_hook* hook) noexcept {
    const guard locked(lock_);
    hook_ = hook;
    if (hook_ != nullptr && of_.is_ending()) hook_->drain();
}

server_state::server_state(server_options options) : how(std::move(options)) { check_limits(how); }

void server_state::check_not_serving(const char* what) {
    const guard locked(lock_);
    if (is_frozen_)
        throw std::logic_error(std::string("weft: http::server::") + what + "() after serve(): add all handlers first");
}

void server_state::freeze() {
    const guard locked(lock_);
    if (is_frozen_) return;
    is_frozen_ = true;
    if (around.empty()) return;
    chain = [](request& r, response& /*w*/) { access::of(r).dispatch(); };
    for (auto m = around.rbegin(); m != around.rend(); ++m) {
        chain = [&outer = *m, next = std::move(chain)](request& r, response& w) { outer(r, w, next); };
    }
}

bool server_state::reserve() {
    const guard locked(lock_);
    if (places_taken_ == how.connections_max) return false;
    ++places_taken_;
    return true;
}

void server_state::give_back() {
    --counted.open;
    const guard locked(lock_);
    --places_taken_;
    changed_.notify_all();
}

bool server_state::is_registered(acceptor& from) {
    const guard locked(lock_);
    if (is_ending()) return false;
    acceptors_.insert(&from);
    return true;
}

void server_state::accept_from(acceptor& from) {
    freeze();
    if (!is_registered(from)) {
        from.close();
        return;
    }
    std::error_code ec;
    std::exception_ptr failed;  // the listener of a user may throw anything
    try {
        accept_until_closed(from, ec);
    } catch (...) {
        failed = std::current_exception();
    }
    weft::shield([&] {
        std::unique_lock<weft::mutex> locked(lock_);
        acceptors_.erase(&from);
        changed_.notify_all();
    });
    if (ec == weft::errc::closed) {
        if (!is_ending()) return;
        std::unique_lock<weft::mutex> locked(lock_);
        weft::shield([&] { changed_.wait(locked, [this] { return has_ended_; }); });
        return;
    }
    from.close();
    end(0);
    if (failed) std::rethrow_exception(failed);
    throw_if_cancelled();
    throw std::system_error(ec, "weft: cannot accept a connection");
}

void server_state::accept_until_closed(acceptor& from, std::error_code& ec) {
    for (;;) {
        try {
            accepted one = from.accept(ec);
            if (ec) return;
            if (one.client == nullptr) {
                std::fprintf(stderr, "weft: http: closed a connection: %s\n", one.why.c_str());
            } else if (reserve()) {
                start(std::move(one));
            } else {
                start_turning_away(std::move(one));
            }
        } catch (const std::bad_alloc&) {
            std::fputs("weft: http: closed a connection: no memory\n", stderr);
            weft::shield([] { weft::sleep_for(pause_after_failure); });
        } catch (const weft::resource_exhausted& e) {
            std::fprintf(stderr, "weft: http: closed a connection: %s\n", e.what());
            weft::shield([] { weft::sleep_for(pause_after_failure); });
        }
    }
}

void server_state::start(accepted one) {
    ++counted.connections;
    ++counted.open;
    try {
        started_.go([this, c = std::move(one)]() mutable {
            try {
                connection(*this, std::move(c)).serve();
            } catch (...) {
                print_why_closed(std::current_exception());
            }
            give_back();
        });
    } catch (...) {
        give_back();
        throw;
    }
}

void server_state::start_turning_away(accepted one) {
    ++counted.turned_away;
    if (one.client->is_secure() || !turning_away_.try_acquire()) return;
    try {
        started_.go([this, c = std::move(one)]() mutable {
            if (begin_turning_away(*c.client)) turn_away(*c.client);
            end_turning_away(*c.client);
            turning_away_.release();
        });
    } catch (...) {
        turning_away_.release();
        throw;
    }
}

// Returns false if the server cuts off what is left.
bool server_state::begin_turning_away(transport& client) {
    const guard locked(lock_);
    if (is_cut_off()) return false;
    turned_away_.insert(&client);
    return true;
}

void server_state::end_turning_away(transport& client) {
    const guard locked(lock_);
    turned_away_.erase(&client);
    changed_.notify_all();
}

void server_state::serve(accepted one) {
    freeze();
    if (!reserve()) {
        ++counted.turned_away;
        if (!one.client->is_secure()) turn_away(*one.client);
        return;
    }
    ++counted.connections;
    ++counted.open;
    const std::unique_ptr<server_state, void (*)(server_state*)> at_end(this, [](server_state* s) { s->give_back(); });
    connection(*this, std::move(one)).serve();
}

std::size_t server_state::end(int64_t deadline_ns) {
    std::size_t cut_off = 0;
    weft::shield([&] {
        const auto when = std::chrono::steady_clock::time_point(std::chrono::nanoseconds(deadline_ns));
        std::unique_lock<weft::mutex> locked(lock_);
        is_ending_.store(true, std::memory_order_release);  // R1
        draining.set();
        for (acceptor* const a : acceptors_) a->close();
        changed_.wait(locked, [this] { return acceptors_.empty(); });
        for (place* const p : places_) {
            const guard place_locked(p->lock_);
            if (p->is_idle_) p->client_.set_read_deadline(transport::time_point::min());  // I1
            if (p->hook_ != nullptr) p->hook_->drain();
        }
        changed_.wait_until(locked, when, [this] { return places_taken_ == 0 && turned_away_.empty(); });
        cut_off = places_taken_;
        is_cut_off_.store(true, std::memory_order_release);  // R2
        for (transport* const t : turned_away_) t->close();
        for (place* const p : places_) {
            p->client_.close();
            p->watch_.cancel();
            const guard place_locked(p->lock_);
            if (p->hook_ != nullptr) p->hook_->cut_off();
        }
        changed_.wait(locked, [this] { return places_taken_ == 0; });
        locked.unlock();
        started_.wait();
        locked.lock();
        has_ended_ = true;
        changed_.notify_all();
    });
    return cut_off;
}

}  // namespace weft::http::detail
