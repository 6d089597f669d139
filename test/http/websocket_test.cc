// websocket_test.cc: WebSocket connections with raw clients, in simulations.
#include <array>
#include <boost/beast/zlib/inflate_stream.hpp>
#include <chrono>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <weft/http/websocket.h>

#include "http/served.h"

namespace weft::test {
namespace {

using http::request;
using http::response;
using http::websocket;
namespace close_code = http::close_code;

enum opcode : unsigned { more = 0x0, text = 0x1, binary = 0x2, closes = 0x8, ping = 0x9, pong = 0xA };

constexpr const char* handshake_fields =
    "Connection: keep-alive, Upgrade\r\nUpgrade: WebSocket\r\nSec-WebSocket-Version: 13\r\n"
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";

struct frame {
    unsigned first = 0;  // with FIN and RSV1; 0: the connection has ended
    std::string payload;

    [[nodiscard]] unsigned what() const { return first & 0x0FU; }

    [[nodiscard]] unsigned code() const {
        return static_cast<unsigned char>(payload.at(0)) * 256U + static_cast<unsigned char>(payload.at(1));
    }
};

std::string number_of(uint64_t n, int bytes) {
    std::string all;
    for (int i = bytes - 1; i >= 0; --i) all += static_cast<char>(n >> (8 * i));
    return all;
}

// A masked frame. first: opcode, FIN and RSV.
std::string client_frame(unsigned first, std::string_view payload) {
    constexpr std::string_view mask = "\x12\x34\x56\x78";
    std::string all(1, static_cast<char>(first));
    if (payload.size() < 126) {
        all += static_cast<char>(0x80U | payload.size());
    } else if (payload.size() <= 0xFFFF) {
        all += static_cast<char>(0x80U | 126U);
        all += number_of(payload.size(), 2);
    } else {
        all += static_cast<char>(0x80U | 127U);
        all += number_of(payload.size(), 8);
    }
    all += mask;
    for (std::size_t i = 0; i < payload.size(); ++i) all += static_cast<char>(payload[i] ^ mask[i % 4]);
    return all;
}

std::string whole(unsigned what, std::string_view payload) { return client_frame(0x80U | what, payload); }

std::string close_of(unsigned code) { return whole(closes, number_of(code, 2)); }

// The client's side of a WebSocket.
class socket_client {
public:
    explicit socket_client(const served& of, const std::string& fields = {}, std::string_view first = {}) : c_(of) {
        c_.stream().set_deadline(std::chrono::steady_clock::now() + 100h);
        c_.send(request_text("GET /", handshake_fields + fields) + std::string(first));
        head_ = c_.receive();
    }

    [[nodiscard]] const answer& head() const { return head_; }

    void send(std::string_view bytes) { c_.send(bytes); }

    frame receive() {
        frame f;
        if (!fill(2)) return f;
        std::size_t size = static_cast<unsigned char>(pending_[1]);
        std::size_t head = 2;
        if (size >= 126) {
            head += size == 126 ? 2 : 8;
            if (!fill(head)) return f;
            size = 0;
            for (std::size_t i = 2; i < head; ++i) size = size * 256 + static_cast<unsigned char>(pending_[i]);
        }
        if (!fill(head + size)) return f;
        f.first = static_cast<unsigned char>(pending_[0]);
        f.payload = pending_.substr(head, size);
        pending_.erase(0, head + size);
        return f;
    }

    [[nodiscard]] bool is_at_end() { return !fill(1); }

private:
    bool fill(std::size_t size) {
        while (pending_.size() < size) {
            const std::string part = c_.part();
            if (part.empty()) return false;
            pending_ += part;
        }
        return true;
    }

    raw_client c_;
    answer head_;
    std::string pending_;
};

// A server that sends each message back, and notes how the connection has ended.
class echo_server {
public:
    explicit echo_server(http::websocket_options how = {})
        : served_([this, how](http::server& to) {
              to.handle("/", [this, how](request&, response& w) {
                  w.set("X-Set", "1").set("Connection", "close").set("Content-Length", "1");
                  auto socket = w.upgrade_websocket(how);
                  while (auto m = socket.read()) {
                      const bool sent = m->is_text ? socket.write(m->data) : socket.write_binary(m->data);
                      EXPECT_TRUE(sent);
                  }
                  EXPECT_FALSE(socket.write("x")) << "it has ended";
                  ended.send(socket.end());
              });
          }) {}

    [[nodiscard]] served& server() { return served_; }

    chan<http::websocket_end> ended{8};

private:
    served served_;
};

WEFT_SIM_TEST_WITH(HttpWebsocket, SendsMessagesBack, few_schedules()) {
    echo_server s;
    socket_client c(s.server(), {}, whole(text, "early"));
    EXPECT_EQ(c.head().status, 101U) << c.head().head;
    EXPECT_TRUE(c.head().has("Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=")) << c.head().head;
    EXPECT_TRUE(c.head().has("X-Set: 1"));
    EXPECT_TRUE(c.head().has("Server: weft")) << c.head().head;
    for (const char* other : {"close", "Content-Length"})
        EXPECT_EQ(c.head().head.find(other), std::string::npos) << c.head().head;
    EXPECT_EQ(c.head().head.find("Sec-WebSocket-Extensions"), std::string::npos);
    EXPECT_EQ(c.receive().payload, "early") << "it came before the server has answered";
    for (const std::size_t size : {0, 1, 125, 126, 3000, 5000, 65'535, 65'536, 300'000}) {
        const std::string message(size, 'x');
        c.send(whole(binary, message));
        const frame f = c.receive();
        EXPECT_EQ(f.first, 0x82U);
        EXPECT_EQ(f.payload, message) << size;
    }
    c.send(client_frame(text, "in ") + whole(ping, "p") + client_frame(0x80, "parts"));
    const frame answered = c.receive();
    EXPECT_EQ(answered.what(), pong);
    EXPECT_EQ(answered.payload, "p");
    EXPECT_EQ(c.receive().payload, "in parts");
    c.send(whole(closes, number_of(4000, 2) + "bye"));
    const frame goodbye = c.receive();
    EXPECT_EQ(goodbye.what(), closes);
    EXPECT_EQ(goodbye.code(), 4000U);
    EXPECT_TRUE(c.is_at_end());
    const auto end = s.ended.recv();
    EXPECT_EQ(end->code, 4000U);
    EXPECT_EQ(end->reason, "bye");
}

WEFT_SIM_TEST_WITH(HttpWebsocket, RefusesWhatIsNoHandshake, few_schedules()) {
    http::websocket_options how;
    const served s([&](http::server& to) {
        to.handle("/", [&](request&, response& w) { auto socket = w.upgrade_websocket(); });
        to.handle("/some", [&](request&, response& w) {
            auto socket = w.upgrade_websocket({.allow_origin = [](std::string_view origin, const request&) {
                return origin == "https://other.example";
            }});
        });
    });
    const auto status_of = [&](const std::string& line, const std::string& fields) {
        raw_client c(s);
        const answer a = c.ask(line + " HTTP/1.1\r\nHost: test\r\n" + fields + "\r\n");
        if (a.status == 426) {
            EXPECT_TRUE(a.has("Sec-WebSocket-Version: 13") && a.has("Upgrade: websocket") &&
                        a.has("Connection: Upgrade"))
                << a.head;
        }
        return a.status;
    };
    const std::string good = handshake_fields;
    const std::string http = "http://";
    EXPECT_EQ(status_of("GET /", good), 101U);
    EXPECT_EQ(status_of("GET /", {}), 426U);
    EXPECT_EQ(status_of("POST /", good), 426U);
    const auto with = [&](std::string_view old, std::string_view by) {
        std::string fields = good;
        return fields.replace(fields.find(old), old.size(), by);
    };
    EXPECT_EQ(status_of("GET /", with("13", "12")), 426U);
    EXPECT_EQ(status_of("GET /", with("Upgrade: WebSocket", "Upgrade: h2c")), 426U);
    EXPECT_EQ(status_of("GET /", with("==", "=")), 400U);
    EXPECT_EQ(status_of("GET /", good + "Content-Length: 1\r\n"), 400U);
    EXPECT_EQ(status_of("GET /", good + "Origin: " + http + "test\r\n"), 101U);
    EXPECT_EQ(status_of("GET /", good + "Origin: " + http + "TEST:80\r\n"), 101U);
    for (const std::string& other : {http + "test.example", http + "test:81", std::string("null"), std::string("test")})
        EXPECT_EQ(status_of("GET /", good + "Origin: " + other + "\r\n"), 403U) << other;
    EXPECT_EQ(status_of("GET /some", good + "Origin: https://other.example\r\n"), 101U);
    EXPECT_EQ(status_of("GET /some", good + "Origin: " + http + "test\r\n"), 403U);
}

WEFT_SIM_TEST_WITH(HttpWebsocket, ChoosesASubprotocol, few_schedules()) {
    const served s([&](http::server& to) {
        to.handle("/", [&](request&, response& w) {
            auto socket = w.upgrade_websocket({.subprotocols = {"v2", "v1"}});
            socket.write("it is " + socket.subprotocol());
        });
    });
    socket_client c(s, "Sec-WebSocket-Protocol: V2, v1\r\nSec-WebSocket-Protocol: v2\r\n");
    EXPECT_TRUE(c.head().has("Sec-WebSocket-Protocol: v2")) << c.head().head;
    EXPECT_EQ(c.receive().payload, "it is v2");
    socket_client other(s, "Sec-WebSocket-Protocol: v3\r\n");
    EXPECT_EQ(other.head().status, 101U);
    EXPECT_EQ(other.receive().payload, "it is ");
}

WEFT_SIM_TEST_WITH(HttpWebsocket, ClosesForWhatIsWrong, few_schedules()) {
    const std::vector<std::pair<std::string, unsigned>> all = {
        {whole(binary, std::string(1001, 'x')), close_code::too_big},
        {client_frame(binary, std::string(600, 'x')) + client_frame(0x80, std::string(600, 'x')), close_code::too_big},
        {whole(text, "\xff\xfe"), close_code::bad_payload},
        {whole(3, "x"), close_code::protocol_error},
        {client_frame(0xC1, "x"), close_code::protocol_error},
        {whole(more, "x"), close_code::protocol_error},
        {client_frame(ping, "x"), close_code::protocol_error},
        {whole(ping, std::string(126, 'x')), close_code::protocol_error},
        {std::string("\x81\x01x"), close_code::protocol_error},
        {close_of(1005), close_code::protocol_error},
        {close_of(5000), close_code::protocol_error},
        {client_frame(text, "\xc3") + client_frame(0x80, ""), close_code::bad_payload},
    };
    for (const auto& [bytes, code] : all) {
        echo_server s({.message_max = 1000});
        socket_client c(s.server());
        c.send(bytes);
        const frame f = c.receive();
        ASSERT_EQ(f.what(), closes);
        EXPECT_EQ(f.code(), code);
        EXPECT_TRUE(c.is_at_end());
        EXPECT_EQ(s.ended.recv()->code, code);
    }
}

WEFT_SIM_TEST_WITH(HttpWebsocket, PingsASilentPeerAndGivesUp, few_schedules()) {
    using clock = std::chrono::steady_clock;
    echo_server s({.ping_time = 10s});
    socket_client c(s.server());
    const clock::time_point begin = clock::now();
    EXPECT_EQ(c.receive().what(), ping);
    EXPECT_LT(clock::now() - begin - 10s, 1ms);
    EXPECT_GE(clock::now() - begin + 1ms, 10s);
    c.send(whole(pong, ""));
    EXPECT_EQ(c.receive().what(), ping);
    EXPECT_LT(clock::now() - begin - 20s, 1ms);
    EXPECT_GE(clock::now() - begin + 1ms, 20s);
    EXPECT_TRUE(c.is_at_end()) << "the connection ends without a word";
    EXPECT_LT(clock::now() - begin - 30s, 1ms);
    EXPECT_GE(clock::now() - begin + 1ms, 30s);
    const auto end = s.ended.recv();
    EXPECT_EQ(end->code, close_code::abnormal);
    EXPECT_EQ(end->reason, "the peer is silent");
}

WEFT_SIM_TEST_WITH(HttpWebsocket, ReportsTheLastReasonOnly, few_schedules()) {
    echo_server s({.ping_time = 10s});
    socket_client c(s.server());
    EXPECT_EQ(c.receive().what(), ping);
    c.send(whole(pong, "") + whole(3, "x"));
    EXPECT_EQ(c.receive().code(), close_code::protocol_error);
    const auto end = s.ended.recv();
    EXPECT_EQ(end->code, close_code::protocol_error);
    EXPECT_NE(end->reason, "the peer is silent");
}

// The times for pings and for the message have passed when the handler begins to close.
WEFT_SIM_TEST_WITH(HttpWebsocket, HearsTheGoodbyeAfterALongTime, few_schedules()) {
    for (const std::string& before : {std::string(), client_frame(text, "a part")}) {
        const served s([&](http::server& to) {
            to.handle("/", [&](request&, response& w) {
                auto socket = w.upgrade_websocket({.message_time = 1s, .ping_time = 1s});
                EXPECT_TRUE(socket.write("only this"));
                sleep_for(10s);
                socket.close(4001);
                EXPECT_EQ(socket.end().code, 4002U) << socket.end().reason;
            });
        });
        socket_client c(s);
        c.send(before);
        EXPECT_EQ(c.receive().payload, "only this");
        EXPECT_EQ(c.receive().code(), 4001U);
        sleep_for(2s);
        if (!before.empty()) c.send(client_frame(0x80, "and the rest"));
        c.send(close_of(4002));
        EXPECT_TRUE(c.is_at_end());
    }
}

WEFT_SIM_TEST_WITH(HttpWebsocket, LimitsTheTimeOfAMessageOfEmptyParts, few_schedules()) {
    const std::vector<std::string> beginnings = {client_frame(text, ""), whole(text, "abc").substr(0, 1)};
    for (const std::string& begin : beginnings) {
        echo_server s({.message_time = 3s});
        socket_client c(s.server());
        for (int i = 0; i < 5; ++i) {
            c.send(whole(ping, ""));
            sleep_for(1s);
            EXPECT_EQ(c.receive().what(), pong) << "pings are no part of a message";
        }
        c.send(begin);
        for (int i = 0; i < 3 && begin.size() > 1; ++i) {
            sleep_for(900ms);
            c.send(client_frame(more, ""));
        }
        const frame f = c.receive();
        ASSERT_EQ(f.what(), closes);
        EXPECT_EQ(f.code(), close_code::policy_error);
        EXPECT_EQ(s.ended.recv()->reason, "the message did not arrive in time");
    }
}

WEFT_SIM_TEST_WITH(HttpWebsocket, EndsItsWriterWhenTheHandlerIsCancelled, few_schedules()) {
    event ended;
    const served s(
        [&](http::server& to) {
            to.handle("/", [&](request&, response& w) {
                auto socket = w.upgrade_websocket();
                const chan<std::string> mine(8);
                try {
                    weft::scope([&](task_scope& both) {
                        both.go([&] {
                            while (const auto what = mine.recv()) socket.write(*what);
                        });
                        while (socket.read()) continue;
                        mine.close();
                    });
                    ADD_FAILURE() << "the handler was not cancelled";
                } catch (...) {
                    ended.set();
                    throw;
                }
            });
        },
        {.handler_time = 3s});
    const socket_client c(s);
    EXPECT_TRUE(ended.wait_for(1h));
}

WEFT_SIM_TEST_WITH(HttpWebsocket, LimitsTheTimeOfAMessage, few_schedules()) {
    echo_server s({.message_time = 3s});
    socket_client c(s.server());
    for (const std::size_t size : {0, 125, 126, 65'535, 65'536}) {
        c.send(whole(binary, std::string(size, 'x')));
        EXPECT_EQ(c.receive().payload.size(), size);
        sleep_for(5s);
    }
    sleep_for(5s);  // between messages it may be silent
    c.send(client_frame(text, "a"));
    sleep_for(2s);
    c.send(client_frame(more, "b"));
    const frame f = c.receive();
    EXPECT_EQ(f.what(), closes);
    EXPECT_EQ(f.code(), close_code::policy_error);
    EXPECT_EQ(s.ended.recv()->reason, "the message did not arrive in time");
}

WEFT_SIM_TEST_WITH(HttpWebsocket, NoticesALostPeer, few_schedules()) {
    echo_server s;
    {
        const socket_client c(s.server());
        EXPECT_EQ(c.head().status, 101U);
    }
    const auto end = s.ended.recv();
    EXPECT_EQ(end->code, close_code::abnormal);
    EXPECT_EQ(end->reason, "the connection was lost");
}

WEFT_SIM_TEST_WITH(HttpWebsocket, ReadsAndWritesAtTheSameTime, few_schedules()) {
    constexpr int count = 20;
    const served s([&](http::server& to) {
        to.handle("/", [&](request&, response& w) {
            auto socket = w.upgrade_websocket();
            wait_group writers;
            for (const char* name : {"a", "b"}) {
                writers.go([&socket, name] {
                    for (int i = 0; i < count; ++i)
                        EXPECT_TRUE(socket.write(name + std::to_string(i) + std::string(10'000, '.')));
                });
            }
            int received = 0;
            for (; received < count; ++received) EXPECT_TRUE(socket.read());
            writers.wait();
        });
    });
    socket_client c(s);
    wait_group sender;
    sender.go([&] {
        for (int i = 0; i < count; ++i) c.send(whole(text, "x") + whole(ping, "p"));
    });
    std::array<int, 2> next{};
    int pongs = 0;
    for (frame f = c.receive(); f.what() != closes; f = c.receive()) {
        ASSERT_NE(f.first, 0U);
        if (f.what() == pong) {
            ++pongs;
            continue;
        }
        int& n = next[f.payload.at(0) == 'a' ? 0 : 1];
        EXPECT_EQ(f.payload.substr(1), std::to_string(n) + std::string(10'000, '.'));
        ++n;
    }
    sender.wait();
    EXPECT_EQ(next[0], count);
    EXPECT_EQ(next[1], count);
    EXPECT_GE(pongs, 1);
}

WEFT_SIM_TEST_WITH(HttpWebsocket, SaysGoodbyeAtTheShutdown, few_schedules()) {
    echo_server s;
    std::optional<socket_client> polite(std::in_place, s.server());
    socket_client silent(s.server());
    std::size_t cut_off = 1;
    std::chrono::steady_clock::duration took{};
    wait_group ending;
    ending.go([&] {
        const auto begin = std::chrono::steady_clock::now();
        cut_off = s.server().server().shutdown(1min);
        took = std::chrono::steady_clock::now() - begin;
    });
    for (socket_client* const c : {&*polite, &silent}) {
        const frame f = c->receive();
        EXPECT_EQ(f.what(), closes);
        EXPECT_EQ(f.code(), close_code::going_away);
    }
    polite->send(close_of(close_code::going_away));
    EXPECT_TRUE(polite->is_at_end());
    polite.reset();
    EXPECT_EQ(s.ended.recv()->code, close_code::going_away);
    ending.wait();
    EXPECT_EQ(cut_off, 0U);
    EXPECT_GE(took, 5s) << "close_time, for the one that did not answer";
    EXPECT_EQ(s.ended.recv()->code, close_code::abnormal);
}

WEFT_SIM_TEST_WITH(HttpWebsocket, IsCutOffAtTheDeadline, few_schedules()) {
    echo_server s({.close_time = 1h});
    socket_client c(s.server());
    EXPECT_EQ(s.server().server().shutdown(1s), 1U);
    EXPECT_EQ(c.receive().code(), close_code::going_away);
    EXPECT_TRUE(c.is_at_end());
}

WEFT_SIM_TEST_WITH(HttpWebsocket, BeginsWhileTheServerEnds, few_schedules()) {
    event asked;
    event may_begin;
    served s([&](http::server& to) {
        to.handle("/", [&](request&, response& w) {
            asked.set();
            may_begin.wait();
            auto socket = w.upgrade_websocket();
            EXPECT_FALSE(socket.read());
            EXPECT_EQ(socket.end().code, close_code::going_away);
        });
    });
    wait_group client;
    client.go([&] {
        socket_client c(s);
        EXPECT_EQ(c.receive().code(), close_code::going_away);
        c.send(close_of(close_code::going_away));
        EXPECT_TRUE(c.is_at_end());
    });
    asked.wait();
    wait_group ending;
    ending.go([&] { EXPECT_EQ(s.server().shutdown(1min), 0U); });
    sleep_for(1s);  // in the simulation: until the server waits
    may_begin.set();
    ending.wait();
    client.wait();
}

WEFT_SIM_TEST_WITH(HttpWebsocket, ClosesWithACodeAndAReason, few_schedules()) {
    served s([&](http::server& to) {
        to.handle("/", [&](request& r, response& w) {
            auto socket = w.upgrade_websocket({.close_time = 2s});
            EXPECT_THROW(socket.close(1006), std::invalid_argument);
            EXPECT_THROW(socket.close(1000, std::string(124, 'x')), std::invalid_argument);
            EXPECT_THROW(socket.close(1000, "\xff"), std::invalid_argument);
            EXPECT_THROW(w.write("x"); w.flush(), std::system_error);
            if (r.header("X") == "throw") throw std::runtime_error("bug");
            if (r.header("X") == "leave") return;
            socket.close(4001, "no reason");
            EXPECT_EQ(socket.end().code, 4001U);
            EXPECT_FALSE(socket.read());
        });
    });
    {
        socket_client c(s);
        const frame f = c.receive();
        EXPECT_EQ(f.code(), 4001U);
        EXPECT_EQ(f.payload.substr(2), "no reason");
        c.send(whole(text, "dropped") + close_of(4001));
        EXPECT_TRUE(c.is_at_end());
    }
    {
        socket_client c(s, "X: leave\r\n");
        EXPECT_EQ(c.receive().code(), close_code::normal);
    }
    {
        socket_client c(s, "X: throw\r\n");
        EXPECT_EQ(c.receive().code(), close_code::internal_error);
    }
    s.server().shutdown(1min);
    EXPECT_EQ(s.reported, " /: bug");
}

// The content of a compressed message (RFC 7692, 7.2.2), for a receiver that keeps 2^window_bits
// bytes. It decompresses small pieces, so it can look only at what it has kept.
std::string inflated(std::string data, int window_bits = 15) {
    namespace zlib = boost::beast::zlib;
    data += std::string_view("\0\0\xff\xff", 4);
    std::string all;
    std::array<char, 100> piece{};
    zlib::inflate_stream stream;
    stream.reset(window_bits);
    zlib::z_params p;
    p.next_in = data.data();
    p.avail_in = data.size();
    do {
        p.next_out = piece.data();
        p.avail_out = piece.size();
        boost::system::error_code ec;
        stream.write(p, zlib::Flush::sync, ec);
        if (ec == zlib::error::need_buffers) break;  // there is nothing more
        EXPECT_FALSE(ec) << ec.message();
        if (ec) break;
        all.append(piece.data(), piece.size() - p.avail_out);
    } while (p.avail_out == 0);
    return all;
}

WEFT_SIM_TEST_WITH(HttpWebsocket, CompressesMessages, few_schedules()) {
    echo_server s({.message_max = 100'000, .compress = true});
    socket_client c(s.server(), "Sec-WebSocket-Extensions: permessage-deflate; client_max_window_bits\r\n");
    EXPECT_NE(c.head().head.find("Sec-WebSocket-Extensions: permessage-deflate; server_no_context_takeover"),
              std::string::npos)
        << c.head().head;
    const std::string message(50'000, 'x');
    for (int i = 0; i < 2; ++i) {
        c.send(whole(text, message));
        const frame f = c.receive();
        EXPECT_EQ(f.first, 0xC1U) << "FIN, RSV1, text";
        EXPECT_LT(f.payload.size(), 1000U);
        EXPECT_EQ(inflated(f.payload), message);
    }
    c.send(client_frame(0xC1, std::string_view("\xf2\x48\xcd\xc9\xc9\x07\x00", 7)));  // RFC 7692, 7.2.3.1
    const frame hello = c.receive();
    EXPECT_EQ(hello.first, 0x81U) << "short ones are not compressed";
    EXPECT_EQ(hello.payload, "Hello");
    socket_client plain(s.server());
    plain.send(whole(text, message));
    EXPECT_EQ(plain.receive().payload, message);
}

WEFT_SIM_TEST_WITH(HttpWebsocket, CompressesForASmallWindow, few_schedules()) {
    echo_server s({.compress = true});
    socket_client c(s.server(), "Sec-WebSocket-Extensions: permessage-deflate; server_max_window_bits=9\r\n");
    EXPECT_NE(c.head().head.find("server_max_window_bits=9"), std::string::npos) << c.head().head;
    std::string block;
    for (uint32_t i = 0, x = 1; i < 3000; ++i) {
        x = x * 1'664'525 + 1'013'904'223;
        block += static_cast<char>(x >> 24);
    }
    for (int i = 0; i < 2; ++i) {
        c.send(whole(binary, block + block));
        const frame f = c.receive();
        EXPECT_EQ(f.first, 0xC2U);
        EXPECT_EQ(inflated(f.payload, 9), block + block);
    }
}

WEFT_SIM_TEST_WITH(HttpWebsocket, ClosesForWhatCannotBeDecompressed, few_schedules()) {
    const std::vector<std::string> all = {std::string(8, '\x07'), "\x06"};  // the first one ends the stream
    for (const std::string& data : all) {
        echo_server s({.compress = true});
        socket_client c(s.server(), "Sec-WebSocket-Extensions: permessage-deflate\r\n");
        c.send(client_frame(0xC1, data));
        const frame f = c.receive();
        ASSERT_EQ(f.what(), closes);
        EXPECT_EQ(f.code(), close_code::bad_payload);
        EXPECT_TRUE(c.is_at_end());
        const auto end = s.ended.recv();
        EXPECT_EQ(end->code, close_code::bad_payload);
        EXPECT_EQ(end->reason, "the message cannot be decompressed");
    }
}

WEFT_SIM_TEST_WITH(HttpWebsocket, EndsAPeerThatDoesNotRead, few_schedules()) {
    event ended;
    const served s([&](http::server& to) {
        to.handle("/", [&](request&, response& w) {
            auto socket = w.upgrade_websocket({.write_time = 1s, .close_time = 1s});
            const std::string large(1'000'000, 'x');
            int sent = 0;
            while (socket.write_binary(large) && sent < 1000) ++sent;
            EXPECT_LT(sent, 1000);
            ended.set();
        });
    });
    const socket_client c(s);
    EXPECT_TRUE(ended.wait_for(1h));
}

}  // namespace
}  // namespace weft::test
