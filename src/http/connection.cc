// connection.cc: from one request of a connection to the next. See connection.h.
#include "http/connection.h"

#include <algorithm>
#include <array>
#include <utility>

#include "http/http2.h"
#include "http/later.h"

namespace weft::http::detail {

using namespace std::chrono_literals;

namespace {

// How long, and for how many bytes, the server still reads from a client whose connection it ends.
constexpr std::chrono::milliseconds linger_time = 2s;
constexpr std::size_t linger_bytes = std::size_t{1} << 20;

// How much of a body that no handler wanted is skipped, to keep the connection.
constexpr uint64_t skipped_max = uint64_t{256} * 1024;

// If the server closed the socket while the client still sends, the kernel would reset the
// connection, and the client might never see the last response. So this closes the sending side,
// and reads on for a while.
void say_goodbye(transport& client) {
    std::error_code ec;
    client.set_write_deadline(std::chrono::steady_clock::now() + linger_time);
    client.shutdown_send(ec);
    client.set_read_deadline(std::chrono::steady_clock::now() + linger_time);
    std::array<char, 4096> unread;
    for (std::size_t all = 0; all < linger_bytes && !ec;) {
        const std::size_t n = client.read_some(unread, ec);
        if (n == 0) break;
        all += n;
    }
}

}  // namespace

connection::connection(server_state& server, accepted one)
    : handling(server),
      client_(std::move(one.client)),
      peer_(std::move(one.peer)),
      watch_(std::make_shared<client_watch>(*client_, in_)),
      place_(server, *client_, *watch_) {}

void connection::serve() {
    const auto close = [](connection* c) { c->watch_->close(); };
    const std::unique_ptr<connection, decltype(close)> at_end(this, close);
    std::error_code ec;
    client_->set_write_deadline(later(clock::now(), server_.how.header_time));
    if (client_->is_secure()) {
        if (!place_.begin_idle(server_.how.header_time)) return;  // no request has begun
        client_->handshake(ec);
        place_.end_idle();
        if (ec) return;
    }
    serve_requests();
    if (more_may_come_) say_goodbye(*client_);
    client_->close();
}

// Whether the client speaks HTTP/2: it says so in the handshake of TLS, or, without TLS, begins
// with the preface.
bool connection::begins_http2() {
    if (!server_.how.http2 || !has_http2()) return false;
    if (client_->is_secure()) return client_->protocol() == "h2";
    came_at_ = clock::now();
    const clock::time_point until = later(came_at_, server_.how.header_time);
    while (in_.size() < http2_preface.size() && http2_preface.starts_with(in_.text())) {
        client_->set_read_deadline(until);
        std::error_code ec;
        const std::size_t n = client_->read_some(in_.room(), ec);
        in_.add(n);
        if (n == 0) return false;
    }
    return in_.text().starts_with(http2_preface);
}

void connection::serve_requests() {
    if (!client_->is_secure() && !await_request()) return;
    if (begins_http2()) {
        more_may_come_ = serve_http2(server_, *client_, in_, place_, peer_);
        return;
    }
    while (await_request()) {
        const bool goes_on = serve_request();
        if (has_header_) log_request();
        if (!goes_on) return;
    }
}

// Returns false if no request will come: the client has closed the connection or was silent for too
// long, or the server is ending.
bool connection::await_request() {
    const auto skip_empty_lines = [this] {  // RFC 9112, 2.2; a line ends with both bytes
        while (in_.text().starts_with("\r\n")) in_.consume(2);
        return !in_.empty() && in_.text() != "\r";
    };
    bool has_begun = skip_empty_lines();
    if (has_begun) return true;
    if (!place_.begin_idle(server_.how.idle_time)) return false;
    std::error_code ec;
    do {
        const std::size_t n = client_->read_some(in_.room(), ec);
        if (n == 0) break;
        in_.add(n);
        has_begun = skip_empty_lines();
    } while (!ec && !has_begun);
    place_.end_idle();
    return has_begun;
}

void connection::reset() {
    reset_handling();
    began_ = std::min(began_, std::exchange(came_at_, clock::time_point::max()));
    request_parts& r = access::parts(request_);
    r.peer = peer_;
    r.is_secure = client_->is_secure();
    first_line_.clear();
    expects_continue_ = false;
    body_error_.clear();
    body_time_left_ = server_.how.body_time;
    body_bytes_in_time_ = 0;
    write_time_left_ = server_.how.write_time;
    written_in_time_ = 0;
    announced_.reset();
    has_header_ = true;
    keep_alive_ = is_upgraded_ = false;
    parser_.emplace(r, server_.how.header_max, server_.how.body_max);
}

// Returns false if it was the last request.
bool connection::serve_request() {
    reset();
    ++server_.counted.requests;
    std::error_code ec;
    switch (read_header()) {
        case header_result::complete:
            call_handler();
            break;
        case header_result::refused:
            break;
        case header_result::broken:
            has_header_ = false;
            return false;
    }
    if (is_upgraded_) {
        more_may_come_ = false;
        return false;
    }
    if (!is_broken_) finish(ec);
    if (is_broken_ || ec) {
        if (!response_.has_begun()) access::parts(response_).status = client_closed_request;
        is_broken_ = true;
        more_may_come_ = false;
        client_->close();  // without the end of the response
        return false;
    }
    more_may_come_ = !keep_alive_;
    return keep_alive_ && (parser().is_done() || skip_body());
}

upgraded connection::upgrade() {
    constexpr unsigned switching_protocols = 101;
    response_parts& w = access::parts(response_);
    w.has_begun = true;
    w.status = switching_protocols;
    is_upgraded_ = true;
    keep_alive_ = false;
    watch_->stop_reading();
    return {*client_, in_};
}

// Reads the rest of a body that the handler did not want. Returns false if it is too long.
bool connection::skip_body() {
    more_may_come_ = true;
    if (expects_continue_ && in_.empty()) return false;  // the client may or may not send it
    access::parts(request_).allows_encoded_body = true;
    std::array<char, 4096> unwanted;
    for (uint64_t all = 0; all <= skipped_max;) {
        std::error_code ec;
        const std::size_t n = read_body(unwanted, ec);
        if (ec) return false;
        if (n == 0) {
            more_may_come_ = false;
            return true;
        }
        all += n;
    }
    return false;
}

// With the request's context around it: what cancels the handler's waits.
void connection::call_handler() {
    using weft::detail::never;
    find_route();
    const auto limit = server_.how.handler_time;
    const int64_t deadline = limit.count() == 0 ? never : weft::detail::deadline_after(limit);
    weft::detail::cancel_context running(weft::detail::enclosing_context(), deadline);
    watch_->begin(running, !parser().is_done(), server_.how.cancel_if_client_gone);
    if (server_.is_cut_off()) running.cancel();
    call_chain(running);
    if (watch_->end()) is_broken_ = true;
}

void connection::log_request() {
    if (first_line_.empty() && server_.how.access_log) note_first_line();
    log(peer_, first_line_);
}

void turn_away(transport& client) {
    client.set_write_deadline(std::chrono::steady_clock::now() + linger_time);
    static constexpr std::string_view text =
        "HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";
    const std::array<net::const_buffer, 1> all{net::const_buffer(text)};
    std::error_code ec;
    client.writev_all(all, ec);
    say_goodbye(client);
}

}  // namespace weft::http::detail
