#include "visitor.h"

#include <array>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/http/write.hpp>
#include <boost/beast/websocket/rfc6455.hpp>
#include <boost/beast/websocket/stream.hpp>
#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <weft/wait_group.h>

#include "frame.h"
#include "page.h"
#include "wire.h"

namespace websocket_chat {

namespace {

namespace http = boost::beast::http;
namespace websocket = boost::beast::websocket;
using namespace std::chrono_literals;
using boost::system::error_code;
using std::chrono::steady_clock;
using weft::net::tcp_stream;

constexpr std::size_t header_bytes = 8 * 1024;
constexpr std::size_t longest_name = 32;
constexpr std::size_t sent_at_once = 32;  // in frames
constexpr std::size_t read_at_once = 4 * 1024;

using question = http::request<http::empty_body>;

bool is_name(std::string_view s) {
    constexpr std::string_view allowed = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-";
    return !s.empty() && s.size() <= longest_name && s.find_first_not_of(allowed) == std::string_view::npos;
}

// The room and the name that a client asks for: "/room?name=NAME".
struct destination {
    std::string room;
    std::string name;
};

std::optional<destination> destination_of(std::string_view target) {
    constexpr std::string_view between = "?name=";
    const std::size_t end = target.find(between);
    if (!target.starts_with('/') || end == std::string_view::npos) return std::nullopt;
    destination d{std::string(target.substr(1, end - 1)), std::string(target.substr(end + between.size()))};
    if (!is_name(d.room) || !is_name(d.name)) return std::nullopt;
    return d;
}

// A client in a room. It has two green threads: this one reads, the other sends the messages of the
// room.
class conversation {
public:
    conversation(websocket::stream<wire>& socket, destination to, const surroundings& s)
        : socket_(socket),
          wire_(socket.next_layer()),
          s_(s),
          room_(std::move(to.room)),
          me_(std::move(to.name), s.allowed.queue, [this] { wire_.socket().close(); }) {}

    [[nodiscard]] bool enter() { return s_.all_rooms.enter(room_, me_); }

    // Runs from the answer to the upgrade request to the end of the connection.
    void hold(const question& asked) {
        error_code ec;
        socket_.read_message_max(s_.allowed.message_bytes);
        socket_.accept(asked, ec);
        if (ec) {
            s_.all_rooms.leave(room_, me_);
            return;
        }
        wire_.begin_frames();
        weft::wait_group sender;
        sender.go([this] { send_all(); });
        s_.all_rooms.say(room_, text_frame("* " + me_.name() + " has joined"));
        read_all();
        s_.all_rooms.leave(room_, me_);
        me_.queue().close();
        s_.all_rooms.say(room_, text_frame("* " + me_.name() + " has left"));
        sender.wait();
    }

private:
    // Reads until the peer sends a close frame, violates the protocol (Beast then sends the reason
    // and closes), or disconnects.
    void read_all() {
        boost::beast::flat_buffer buffer;
        while (read_message(buffer)) {
            const std::string_view text(static_cast<const char*>(buffer.data().data()), buffer.size());
            if (!socket_.got_text()) {
                wire_.say_goodbye(websocket::close_code::unknown_data, "only text messages are supported");
            } else if (!wire_.is_closing()) {
                s_.all_rooms.say(room_, text_frame(me_.name() + ": " + std::string(text)));
            }
            buffer.clear();
        }
    }

    // Waiting for a message has no deadline; receiving the rest of it has one.
    bool read_message(boost::beast::flat_buffer& buffer) {
        error_code ec;
        wire_.set_read_deadline(steady_clock::time_point::max());
        socket_.read_some(buffer, read_at_once, ec);
        if (ec || socket_.is_message_done()) return !ec;
        wire_.set_read_deadline(steady_clock::now() + s_.allowed.message_time);
        while (!ec && !socket_.is_message_done()) socket_.read_some(buffer, read_at_once, ec);
        return !ec;
    }

    // Sends until the queue is closed or a send fails. Pings a silent client.
    void send_all() {
        std::vector<frame> frames;
        for (;;) {
            weft::recv_result<frame> next = me_.queue().recv_for(s_.allowed.ping_time);
            if (next.status == weft::chan_status::closed) return;
            frames.clear();
            while (next && frames.size() < sent_at_once) {
                frames.push_back(std::move(*next));
                next = me_.queue().try_recv();
            }
            if (next) frames.push_back(std::move(*next));
            if (has_gone()) break;
            if (is_to_be_asked()) frames.push_back(ping_frame());
            if (!wire_.send(frames)) break;
        }
        if (!wire_.is_closing()) wire_.socket().close();
    }

    // Whether the last ping is ping_time ago, and nothing has arrived since.
    bool has_gone() const {
        return asked_ && *asked_ > wire_.last_heard() && steady_clock::now() - *asked_ >= s_.allowed.ping_time;
    }

    bool is_to_be_asked() {
        const auto now = steady_clock::now();
        if (asked_ && *asked_ > wire_.last_heard()) return false;  // a ping is pending
        if (now - wire_.last_heard() < s_.allowed.ping_time) return false;
        asked_ = now;
        return true;
    }

    websocket::stream<wire>& socket_;
    wire& wire_;
    const surroundings& s_;
    const std::string room_;
    const member me_;
    std::optional<steady_clock::time_point> asked_;  // used by the sender only: when it last sent a ping
};

class visitor {
public:
    visitor(tcp_stream accepted, const surroundings& s) : s_(s), socket_(std::move(accepted), s.allowed) {
        is_known_ = s_.all.add(socket_.next_layer());
    }

    visitor(const visitor&) = delete;
    visitor& operator=(const visitor&) = delete;

    ~visitor() { s_.all.remove(socket_.next_layer()); }

    void serve() {
        if (!is_known_) return;
        const std::optional<question> asked = read_question();
        if (!asked) return;
        if (!websocket::is_upgrade(*asked)) {
            const bool is_page = asked->method() == http::verb::get && asked->target() == "/";
            is_page ? answer(http::status::ok, page())
                    : answer(http::status::not_found, "<p>This page does not exist.\n");
            return;
        }
        std::optional<destination> to = destination_of({asked->target().data(), asked->target().size()});
        if (!to) {
            answer(http::status::bad_request, "<p>Ask for /ROOM?name=NAME, of up to 32 letters, digits, _ and -.\n");
            return;
        }
        conversation c(socket_, std::move(*to), s_);
        if (!c.enter()) {
            answer(http::status::conflict, "<p>That name is already in use in that room.\n");
            return;
        }
        c.hold(*asked);
    }

private:
    std::optional<question> read_question() {
        wire& w = socket_.next_layer();
        w.set_read_deadline(steady_clock::now() + s_.allowed.handshake_time);
        boost::beast::flat_buffer buffer(header_bytes);
        http::request_parser<http::empty_body> p;
        p.header_limit(header_bytes);
        error_code ec;
        http::read(w, buffer, p, ec);
        if (!ec && buffer.size() == 0) return p.release();
        if (ec == boost::asio::error::timed_out) {
            answer(http::status::request_timeout, "<p>The request did not arrive in time.\n");
        } else if (!ec || (ec.category() == http::make_error_code(http::error::bad_method).category() &&
                           ec != http::error::end_of_stream)) {
            answer(http::status::bad_request, "<p>The request is not valid HTTP.\n");
        }
        return std::nullopt;
    }

    void answer(http::status status, std::string_view html) {
        http::response<http::string_body> a(status, 11);
        a.set(http::field::content_type, "text/html; charset=utf-8");
        a.keep_alive(false);
        a.body() = html;
        a.prepare_payload();
        error_code ec;
        http::write(socket_.next_layer(), a, ec);
        teardown(boost::beast::role_type::server, socket_.next_layer(), ec);  // so that the client receives the answer
    }

    const surroundings& s_;
    websocket::stream<wire> socket_;
    bool is_known_ = false;
};

}  // namespace

void serve(tcp_stream accepted, const surroundings& s) { visitor(std::move(accepted), s).serve(); }

void turn_away(tcp_stream accepted) {
    static constexpr std::string_view text =
        "HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";
    accepted.set_deadline(steady_clock::now() + 1s);
    std::error_code ec;
    accepted.write_all(text, ec);
    accepted.shutdown_send(ec);
    std::array<char, 512> unread;
    while (!ec && accepted.read_some(unread, ec) != 0) continue;
}

}  // namespace websocket_chat
