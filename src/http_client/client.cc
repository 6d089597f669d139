// client.cc: see weft/http/client.h.
#include <stdexcept>
#include <utility>

#include <weft/go.h>
#include <weft/http/client.h>

#include "http_client/client_state.h"
#include "http_client/curl.h"
#include "http_client/driver.h"
#include "http_client/exchange_state.h"

namespace weft::http {

namespace detail {

namespace {

void check_client_options(const client_options& how) {
    using namespace std::chrono_literals;
    const auto need = [](bool is_good, const char* name) {
        if (!is_good)
            throw std::invalid_argument(std::string("weft: http::client_options::") + name + " must be more than 0");
    };
    need(how.connect_time > 0ns, "connect_time");
    need(how.idle_time > 0ns, "idle_time");
    need(how.total_time > 0ns, "total_time");
    need(how.buffer_size != 0, "buffer_size");
    need(how.retry_delay > 0ns, "retry_delay");
    need(how.retry_delay_max > 0ns, "retry_delay_max");
    need(how.idle_connections_max != 0, "idle_connections_max");
    need(how.idle_connection_time > 0s, "idle_connection_time");
}

}  // namespace

std::shared_ptr<client_state> client_state::start(client_options how) {
    check_client_options(how);
    start_libcurl();
    auto state = std::make_shared<client_state>(std::move(how));
    auto driving = std::make_unique<driver>(state->orders, state->how);
    state->driving_.go({.name = "http client", .stack_size = driver::stack_size},
                       [driving = std::move(driving)]() mutable {
                           driving->run();
                           driving.reset();
                       });
    return state;
}

void client_state::end() noexcept {
    orders->close();
    driving_.wait();
}

reply client_state::send(client_request r) {
    auto made = std::make_unique<exchange_state>(shared_from_this(), std::move(r));
    made->run();
    return reply(std::move(made));
}

}  // namespace detail

reply::reply(std::unique_ptr<detail::exchange_state> of) noexcept : state_(std::move(of)) {}

reply::reply(reply&&) noexcept = default;
reply& reply::operator=(reply&&) noexcept = default;
reply::~reply() = default;

unsigned reply::status() const noexcept { return state_->current().status; }

const headers& reply::headers() const noexcept { return state_->current().fields; }

const std::string& reply::url() const noexcept { return state_->url(); }

unsigned reply::redirects() const noexcept { return state_->redirects; }

unsigned reply::retries() const noexcept { return state_->retries; }

unsigned reply::version() const noexcept { return state_->current().version; }

std::size_t reply::read_some(net::mutable_buffer b) { return state_->read_some(b); }

std::size_t reply::read_some(net::mutable_buffer b, std::error_code& ec) {
    ec.clear();
    try {
        return read_some(b);
    } catch (const std::system_error& e) {
        ec = e.code();
    } catch (const cancelled&) {
        ec = make_error_code(weft::errc::cancelled);
    } catch (const timed_out&) {
        ec = make_error_code(weft::errc::timed_out);
    }
    return 0;
}

const std::string& reply::body() { return state_->body(); }

const std::string& reply::text() const noexcept { return state_->text(); }

client::client(client_options how) : state_(detail::client_state::start(std::move(how))) {}

client::~client() { state_->end(); }

reply client::send(client_request r) {
    const std::shared_ptr<detail::client_state> kept = state_;
    return kept->send(std::move(r));
}

reply client::get(std::string url) {
    reply r = send({.url = std::move(url)});
    static_cast<void>(r.body());
    return r;
}

reply client::post(std::string url, std::string body, std::string_view type) {
    client_request asked{.method = "POST", .url = std::move(url), .body = std::move(body)};
    asked.headers.set("Content-Type", type);
    reply r = send(std::move(asked));
    static_cast<void>(r.body());
    return r;
}

reply get(std::string url) { return client().get(std::move(url)); }

reply post(std::string url, std::string body, std::string_view type) {
    return client().post(std::move(url), std::move(body), type);
}

}  // namespace weft::http
