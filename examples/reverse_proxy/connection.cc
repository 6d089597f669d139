#include "connection.h"

#include <algorithm>
#include <array>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/http/write.hpp>
#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "exchange.h"
#include "fields.h"
#include "http.h"
#include "relay.h"

namespace reverse_proxy {

namespace {

using namespace std::chrono_literals;
using boost::system::error_code;
using std::chrono::steady_clock;
using weft::net::tcp_stream;

constexpr std::size_t read_at_least = 4096;
constexpr std::size_t read_ahead_most = std::size_t{64} * 1024;  // of a body, or of pipelined requests

// How long, and for how many bytes, the proxy still reads from a client whose connection it ends.
constexpr std::chrono::milliseconds linger_time = 2s;
constexpr int linger_pieces = 256;

// If the proxy closed the socket while the client still sends, the kernel would reset the
// connection, and the client might never see the last answer. So this closes the sending side, and
// reads on for a while.
void say_goodbye(tcp_stream& client) {
    std::error_code ec;
    client.shutdown_send(ec);
    client.set_read_deadline(steady_clock::now() + linger_time);
    std::array<char, 4096> unread;
    for (int i = 0; i < linger_pieces && !ec; ++i) {
        if (client.read_some(unread, ec) == 0) break;
    }
}

// The IP address without the port: 127.0.0.1. IPv6 addresses have no brackets.
std::string address_of(const tcp_stream& client) {
    try {
        const std::string both = client.remote_endpoint().to_string();
        const std::string address = both.substr(0, both.rfind(':'));
        return address.starts_with('[') ? address.substr(1, address.size() - 2) : address;
    } catch (const std::system_error&) {
        return "unknown";  // the client has closed the connection
    }
}

// Returns the refusal for a header that could not be read; nullopt if the connection itself has
// failed.
std::optional<refusal> refusal_for(const error_code& ec) {
    if (ec == boost::asio::error::timed_out)
        return refusal{http::status::request_timeout, "the request did not arrive in time"};
    if (ec == http::error::header_limit || ec == http::error::buffer_overflow) {
        return refusal{http::status::request_header_fields_too_large, "the header is too large"};
    }
    if (ec == http::error::end_of_stream) return {};
    if (ec.category() != http::make_error_code(http::error::bad_method).category()) return {};
    return refusal{http::status::bad_request, ec.message()};
}

class http_connection {
public:
    http_connection(tcp_stream accepted, const surroundings& s)
        : s_(s),
          address_(address_of(accepted)),
          client_(std::move(accepted)),
          place_(s.known, client_.next_layer()),
          buffer_(s.allowed.header_bytes + read_ahead_most) {}

    void serve() {
        bool more = true;
        while (more && await_request()) more = serve_request();
        if (!more) say_goodbye(client_.next_layer());
        client_.next_layer().close();
    }

private:
    // Waits until a request begins. Returns false if none will come.
    bool await_request() {
        const auto skip_empty_lines = [this] {
            const std::string_view text(static_cast<const char*>(buffer_.data().data()), buffer_.size());
            buffer_.consume(std::min(text.find_first_not_of("\r\n"), text.size()));
            return buffer_.size() != 0;
        };
        if (skip_empty_lines()) return true;
        if (!place_.begin_idle(s_.allowed.idle_time)) return false;
        error_code ec;
        do {
            buffer_.commit(client_.read_some(buffer_.prepare(read_at_least), ec));
        } while (!ec && !skip_empty_lines());
        place_.end_idle();
        return !ec;
    }

    // Returns whether another request may follow.
    bool serve_request() {
        request_parser p;
        p.header_limit(static_cast<uint32_t>(s_.allowed.header_bytes));
        p.body_limit(boost::none);
        try {
            error_code ec;
            client_.next_layer().set_read_deadline(steady_clock::now() + s_.allowed.header_time);
            http::read_header(client_, buffer_, p, ec);
            if (const auto no = ec ? refusal_for(ec) : std::nullopt) throw *no;
            if (ec) return false;
            check(p);
            exchange e(client_, buffer_, p, address_, place_, s_.all, s_.allowed);
            return e.run();
        } catch (const refusal& no) {
            send_page(no, p.get().method() == http::verb::head);
            return false;
        }
    }

    void send_page(const refusal& no, bool header_only) {
        http::response<http::string_body> page(no.status, 11);
        page.set(http::field::content_type, "text/html; charset=utf-8");
        page.keep_alive(false);
        const std::string title =
            std::to_string(page.result_int()) + ' ' + std::string(http::obsolete_reason(no.status));
        page.body() = "<!DOCTYPE html><title>" + title + "</title><h1>" + title + "</h1><p>" + no.why + "\n";
        page.prepare_payload();
        client_.next_layer().set_write_deadline(steady_clock::now() + s_.allowed.stall_time);
        error_code ec;
        http::response_serializer<http::string_body> serializer(page);
        if (header_only) {
            http::write_header(client_, serializer, ec);
        } else {
            http::write(client_, serializer, ec);
        }
    }

    const surroundings& s_;
    const std::string address_;
    stream client_;
    clients::entry place_;
    boost::beast::flat_buffer buffer_;
};

}  // namespace

void serve_http(tcp_stream accepted, const surroundings& s) { http_connection(std::move(accepted), s).serve(); }

void serve_tcp(tcp_stream accepted, const surroundings& s) {
    clients::entry place(s.known, accepted);
    std::vector<backend*> tried;
    while (backend* const b = s.all.choose(tried)) {
        const assignment to(*b);
        std::error_code ec;
        tcp_stream there = b->connect(ec);
        if (!ec) {
            relay_both_ways(accepted, {}, there, {}, s.allowed.idle_time);
            break;
        }
        tried.push_back(b);
    }
    accepted.close();
}

void turn_away(tcp_stream accepted) {
    static constexpr std::string_view text =
        "HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";
    std::error_code ec;
    accepted.set_write_deadline(steady_clock::now() + linger_time);
    accepted.write_all(text, ec);
    say_goodbye(accepted);
}

}  // namespace reverse_proxy
