// server.cc: see weft/http/server.h.
#include <weft/http/server.h>

#include "http/http2.h"
#include "http/server_state.h"

namespace weft::http {

server::server(server_options how) : state_(std::make_unique<detail::server_state>(std::move(how))) {}

server::~server() { state_->end(0); }

void server::handle(std::string_view pattern, handler h) {
    state_->check_not_serving("handle");
    state_->routes.add(pattern, std::move(h));
}

void server::use(middleware m) {
    state_->check_not_serving("use");
    state_->around.push_back(std::move(m));
}

void server::accept_from(detail::acceptor& from) { state_->accept_from(from); }

void server::serve_one(detail::accepted one) { state_->serve(std::move(one)); }

std::size_t server::end(int64_t deadline_ns) { return state_->end(deadline_ns); }

std::vector<std::string> server::protocols() const {
    if (state_->how.http2 && detail::has_http2()) return {"h2", "http/1.1"};
    return {"http/1.1"};
}

server_stats server::stats() const noexcept {
    const auto& counted = state_->counted;
    server_stats s;
    s.connections = counted.connections;
    s.open = counted.open;
    s.turned_away = counted.turned_away;
    s.requests = counted.requests;
    s.body_bytes_sent = counted.body_bytes_sent;
    for (std::size_t i = 0; i < s.responses.size(); ++i) s.responses[i] = counted.responses[i];
    return s;
}

}  // namespace weft::http
