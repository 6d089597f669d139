#include "connection.h"

#include <array>
#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "answer_writer.h"
#include "request_reader.h"

namespace http_server {

namespace {

using namespace std::chrono_literals;

// How long, and for how many bytes, the server still reads from a client whose connection it ends.
constexpr std::chrono::milliseconds linger_time = 2s;
constexpr size_t linger_bytes = 1 << 20;

// If the server closed the socket while the client still sends, the kernel would reset the
// connection, and the client might never see the last answer. So this closes the sending side, and
// reads on for a while.
void say_goodbye(transport& client) {
    std::error_code ec;
    client.shutdown_send(ec);
    client.set_read_time(linger_time);
    std::array<char, 4096> unread;
    for (size_t all = 0; all < linger_bytes && !ec;) {
        const size_t n = client.read_some(unread, ec);
        if (n == 0) break;
        all += n;
    }
}

class connection {
public:
    connection(transport client, std::string name, const surroundings& s)
        : s_(s), name_(std::move(name)), client_(std::move(client)), place_(s.all, client_.next_layer()) {}

    void serve() {
        std::error_code ec;
        client_.next_layer().set_write_time(s_.allowed.header_time);
        if (!place_.begin_idle(s_.allowed.header_time)) return;  // no request has begun
        client_.next_layer().handshake(ec);
        place_.end_idle();
        if (ec) return;
        request_reader reader(client_, place_, s_.allowed);
        while (reader.await_request()) {
            if (!serve_request(reader)) break;
        }
        if (more_may_come_) say_goodbye(client_.next_layer());
        client_.next_layer().close();
    }

private:
    // Returns false if it was the last request.
    bool serve_request(request_reader& reader) {
        answer_form form;
        answer a;
        ++s_.counted.requests;
        try {
            const std::optional<request> r = reader.read();
            if (!r) return false;
            a = s_.content.answer_to(*r);
            form.version = r->version() >= 11 ? 11 : 10;
            form.header_only = r->method() == http::verb::head;
            form.keep_alive = r->keep_alive() && !place_.is_last();
            more_may_come_ = !form.keep_alive;
        } catch (const refusal& no) {
            more_may_come_ = true;
            form.header_only = reader.first_line().starts_with("HEAD ");
            a = answer_with_reason(no.status, no.why);
        }
        ++s_.counted.answers[a.message.result_int() / 100];
        uint64_t sent = 0;
        const bool all = send_answer(client_, a, form, s_.allowed, sent);
        s_.counted.body_bytes_sent += sent;
        s_.log.line({name_, reader.first_line(), a.message.result_int(), sent});
        if (!all) client_.next_layer().close();  // an incomplete answer must not look complete
        return all && form.keep_alive;
    }

    const surroundings& s_;
    const std::string name_;
    weft::asio::stream<transport> client_;
    connections::entry place_;
    bool more_may_come_ = false;  // the client does not know that the server closes
};

// The IP address without the port: 127.0.0.1.
std::string address_of(const weft::net::tcp_stream& client) {
    try {
        const std::string both = client.remote_endpoint().to_string();
        return both.substr(0, both.rfind(':'));
    } catch (const std::system_error&) {
        return "-";  // the client has closed the connection
    }
}

}  // namespace

void serve_connection(weft::net::tcp_stream accepted, const surroundings& s) {
    std::string name = address_of(accepted);
    connection(s.how.wrap(std::move(accepted)), std::move(name), s).serve();
}

void turn_away(weft::net::tcp_stream accepted, const surroundings& s) {
    if (s.how.is_on()) return;
    transport client(std::move(accepted));
    client.set_write_time(linger_time);
    static constexpr std::string_view text =
        "HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";
    const std::array<weft::net::const_buffer, 1> all{weft::net::const_buffer(text)};
    std::error_code ec;
    client.writev_all(all, ec);
    say_goodbye(client);
}

}  // namespace http_server
