// websocket_chat_test.cc: the example websocket_chat, with visitors that behave well, badly, or
// vanish.
//
// One visitor of the room is the witness: it comes first, stays to the end, and never fails. It
// hears all that is said. The others must have heard a part of that without gaps.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <weft/net/resolve.h>
#include <weft/net/tcp.h>
#include <weft/sim/gtest.h>
#include <weft/sim/network.h>
#include <weft/sim/sim.h>
#include <weft/weft.h>

#include "../../../examples/websocket_chat/server.h"
#include "sim/examples/short_run.h"

namespace websocket_chat {
namespace {

using namespace std::chrono_literals;
using std::chrono::steady_clock;
using weft::net::tcp_listener;
using weft::net::tcp_stream;
namespace sim = weft::sim;

constexpr std::size_t messages_each = 3;

// One client of the chat. Its frames are masked with zeros.
class visitor_client {
public:
    explicit visitor_client(std::string name) : name_(std::move(name)) {}

    [[nodiscard]] const std::string& name() const noexcept { return name_; }

    [[nodiscard]] tcp_stream& socket() noexcept { return socket_; }

    // The texts that have arrived, in order.
    [[nodiscard]] const std::vector<std::string>& heard() const noexcept { return heard_; }

    // Whether the server has sent a close frame.
    [[nodiscard]] bool was_closed() const noexcept { return was_closed_; }

    [[nodiscard]] std::string text_of(std::size_t message) const {
        return name_ + ": " + std::string(60, '.') + std::to_string(message);
    }

    // Returns whether the server has let it in.
    bool enter() {
        std::error_code ec;
        socket_ = weft::net::dial("chat:80", ec);
        if (ec) return false;
        socket_.write_all("GET /room?name=" + name_ +
                              " HTTP/1.1\r\nHost: chat\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                              "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n",
                          ec);
        std::size_t end = 0;
        while ((end = unread_.find("\r\n\r\n")) == std::string::npos) {
            if (!read_more()) return false;
        }
        const bool is_in = unread_.starts_with("HTTP/1.1 101 ");
        unread_.erase(0, end + 4);
        return is_in;
    }

    bool say(std::size_t message) { return send(0x1, text_of(message).substr(name_.size() + 2)); }

    // False: the connection has ended.
    bool hear_one() {
        for (;;) {
            const std::optional<std::pair<unsigned, std::string>> f = take_frame();
            if (!f) {
                if (!read_more()) return false;
                continue;
            }
            EXPECT_FALSE(was_closed_) << "a frame after the close frame";
            if (f->first == 0x1) {
                heard_.push_back(f->second);
                return true;
            }
            if (f->first == 0x9) {
                send(0xA, f->second);
                continue;
            }
            EXPECT_EQ(f->first, 0x8U) << "an unknown frame";
            was_closed_ = true;
        }
    }

    bool has_heard(std::string_view text) const {
        return std::find(heard_.begin(), heard_.end(), text) != heard_.end();
    }

    // Says goodbye, and hears the rest.
    void leave() {
        socket_.set_read_deadline(steady_clock::time_point::max());
        send(0x8, "\x03\xe8");
        while (hear_one()) continue;
        socket_.close();
    }

private:
    bool send(unsigned kind, std::string_view payload) {
        std::string bytes{static_cast<char>(0x80U | kind), static_cast<char>(0x80U | payload.size()), 0, 0, 0, 0};
        bytes += payload;
        std::error_code ec;
        socket_.write_all(bytes, ec);
        return !ec;
    }

    bool read_more() {
        char bytes[1000];
        std::error_code ec;
        const std::size_t n = socket_.read_some(bytes, ec);
        unread_.append(bytes, n);
        return n != 0;
    }

    // The kind and the payload of a complete frame.
    std::optional<std::pair<unsigned, std::string>> take_frame() {
        const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(unread_[i]); };
        if (unread_.size() < 2) return std::nullopt;
        EXPECT_GE(byte(0), 0x80U) << "not a whole message";
        EXPECT_LT(byte(1), 126U) << "no message is that long";
        const std::size_t size = byte(1);
        if (unread_.size() < 2 + size) return std::nullopt;
        std::pair<unsigned, std::string> f{byte(0) & 0xFU, unread_.substr(2, size)};
        unread_.erase(0, 2 + size);
        return f;
    }

    const std::string name_;
    tcp_stream socket_;
    std::string unread_;
    std::vector<std::string> heard_;
    bool was_closed_ = false;
};

// The chat, on a host of its own.
class chat {
public:
    explicit chat(const limits& allowed) : allowed_(allowed) {
        weft::event listens;
        ended_.add();
        sim::network().add_host("chat").go([this, &listens] {
            tcp_listener listener(weft::net::endpoint("0.0.0.0:80"));
            listens.set();
            serve_until([this] { told_to_end_.wait(); }, listener, allowed_);
            ended_.done();
        });
        listens.wait();
    }

    // Returns how long it took.
    steady_clock::duration end() {
        const auto begin = steady_clock::now();
        told_to_end_.set();
        ended_.wait();
        return steady_clock::now() - begin;
    }

private:
    const limits allowed_;
    weft::event told_to_end_;
    weft::wait_group ended_;
};

enum class behaviour : uint8_t { waits_for_all, says_goodbye_early, cuts_off, crashes, is_partitioned, reads_nothing };
constexpr uint32_t behaviours = 6;

// What a visitor does from its entrance to its end.
void visit(visitor_client& me, behaviour how, const sim::host& where) {
    const sim::network net;
    if (!me.enter()) return;
    for (std::size_t i = 0; i < messages_each; ++i) {
        if (!me.say(i)) return;
        if (how == behaviour::is_partitioned && i == 0) {
            net.partition(where, net.find("chat"));
            weft::sleep_for(std::chrono::seconds(sim::choose(60)));
            net.heal(where, net.find("chat"));
        }
        if (sim::choose(4) == 3) weft::sleep_for(std::chrono::milliseconds(1 << sim::choose(13)));
    }
    switch (how) {
        case behaviour::waits_for_all:
        case behaviour::is_partitioned:
            while (!me.has_heard(me.text_of(messages_each - 1)) && me.hear_one()) continue;
            me.socket().set_read_deadline(steady_clock::now() + std::chrono::seconds(sim::choose(2) * 100));
            while (me.hear_one()) continue;
            me.leave();
            break;
        case behaviour::says_goodbye_early:
            me.leave();
            break;
        case behaviour::cuts_off:
            me.socket().close();
            break;
        case behaviour::crashes:
            where.crash();
            break;
        case behaviour::reads_nothing:
            weft::sleep_for(5min);
            while (me.hear_one()) continue;
            break;
    }
}

// Whether it did nothing that lets the server end its connection, or lose what it says.
bool is_good(behaviour how) { return how == behaviour::waits_for_all || how == behaviour::says_goodbye_early; }

void expect_part_of(const std::vector<std::string>& part, const std::vector<std::string>& all) {
    if (std::search(all.begin(), all.end(), part.begin(), part.end()) != all.end() || part.empty()) return;
    std::string text = "heard:";
    for (const std::string& s : part) text += " | " + s;
    text += "\nsaid:";
    for (const std::string& s : all) text += " | " + s;
    ADD_FAILURE() << "gaps, repetitions, or another order\n" << text;
}

TEST(SimulatedChat, AllHearTheSameInTheSameOrder) {
    const sim::without_stderr quiet;
    sim::expect_passes(sim::short_run(), [] {
        const sim::network net({.latency = 1ms, .jitter = 20ms, .loss = 0.02, .window = 400});
        limits allowed;
        allowed.queue = 16;
        chat server(allowed);
        visitor_client witness("witness");
        ASSERT_TRUE(witness.enter());

        struct guest {
            visitor_client client;
            behaviour how;
            sim::host where;
        };

        std::array<guest, 3> guests{
            guest{visitor_client("anna"), behaviour(sim::choose(behaviours)), net.add_host("anna")},
            guest{visitor_client("otto"), behaviour(sim::choose(behaviours)), net.add_host("otto")},
            guest{visitor_client("eve"), behaviour(sim::choose(behaviours)), net.add_host("eve")}};
        weft::wait_group visits;
        for (guest& g : guests) {
            visits.add();
            g.where.go([&g, &visits] {
                try {
                    visit(g.client, g.how, g.where);
                } catch (const weft::cancelled&) {}  // a crash
                g.client.socket().close();
                visits.done();
            });
        }
        weft::wait_group witnessing;
        witnessing.go([&] {
            while (witness.hear_one()) continue;
        });
        visits.wait();
        weft::sleep_for(2min);  // until the server has noticed the ones that have vanished
        EXPECT_LE(server.end(), 2 * allowed.close_time + 100ms);
        witnessing.wait();
        EXPECT_TRUE(witness.was_closed()) << "the witness was cut off";

        const std::vector<std::string>& said = witness.heard();
        for (const guest& g : guests) {
            expect_part_of(g.client.heard(), said);
            const auto times = [&](const std::string& text) { return std::count(said.begin(), said.end(), text); };
            const auto joined = times("* " + g.client.name() + " has joined");
            EXPECT_LE(joined, 1);
            EXPECT_EQ(times("* " + g.client.name() + " has left"), joined) << "still there after its end";
            EXPECT_TRUE(joined == 1 || !is_good(g.how));
            std::vector<std::string> own;
            for (const std::string& s : said) {
                if (s.starts_with(g.client.name() + ": ")) own.push_back(s);
            }
            ASSERT_LE(own.size(), messages_each);
            for (std::size_t i = 0; i < own.size(); ++i) EXPECT_EQ(own[i], g.client.text_of(i));
            EXPECT_TRUE(own.size() == messages_each || !is_good(g.how)) << g.client.name() << " was not heard";
        }
    });
}

// At any time, whatever the visitors are doing, and if they do not react.
void end_at_any_time() {
    const sim::network net({.latency = 1ms, .jitter = 20ms, .window = 300});
    const limits allowed;
    chat server(allowed);
    weft::wait_group visits;
    std::array<visitor_client, 3> visitors{visitor_client("anna"), visitor_client("otto"), visitor_client("anna")};
    std::size_t closed = 0;
    std::size_t entered = 0;
    for (visitor_client& v : visitors) {
        visits.go([&] {
            if (sim::choose(4) == 3) weft::sleep_for(std::chrono::milliseconds(sim::choose(200)));
            const bool is_in = v.enter();
            const bool reads = sim::choose(4) != 3;
            for (std::size_t i = 0; is_in && i < messages_each && v.say(i); ++i) continue;
            if (!reads) weft::sleep_for(1min);
            while (is_in && v.hear_one()) continue;
            v.socket().close();
            if (!reads || !v.has_heard("* " + v.name() + " has joined")) return;
            ++entered;
            if (v.was_closed()) ++closed;
        });
    }
    weft::sleep_for(std::chrono::milliseconds(sim::choose(300)));
    EXPECT_LE(server.end(), 2 * allowed.close_time + 100ms);
    visits.wait();
    EXPECT_EQ(closed, entered) << "a visitor got no close frame";
}

TEST(SimulatedChat, EndsInTimeWithAGoodbyeToAll) {
    const sim::without_stderr quiet;
    sim::expect_passes(sim::short_run(), &end_at_any_time);
}

// A write that began late replaced the deadline of the end by its own.
TEST(SimulatedChat, EndsInTimeIfAWriteBeginsLate) {
    const sim::without_stderr quiet;
    const char* schedule =
        "w1.1,0,0:2,1,1,5:2,0:4,0,0,0,0:2,0:7,1:76,0,1,0:2,1:6,1,1,0:2,3:3,0:4,1,0:2,0:3,1,0,1:3,0:"
        "2,0,0,0:4,0:4,1,1:2,2:2,0,1,0:2,0:3,0:2,0:2,0:6,0:2,0,0,0,0:2,2:2,2:3,1:3,0:3,0:3,1:4,0:4,"
        "0:6,0:2,0:2,0,0:2,1:2,0:3,0:5,0,3:3,0:2,0,1:2,0,1:2,2:2,0:2,1:5,0:2,0:2,0:2,0,2:2,2,1:2,5,"
        "1,2,1,0,1:2,0:2,0:3,0:2,1:3,0:3,0:2,0:2,0:3,1:2,0,10:2,0:2,0:2,6,3:2,3:2,1:2,0:2,0:2,1,1:3"
        ",0:3,1,0:3,0:2,1,4:3,0:4,0:2,0:4,2:4,31,4:2,14:3,1,0:2,0:3,6:3,7:3";
    const sim::report r = sim::replay(schedule, {}, &end_at_any_time);
    EXPECT_EQ(r.result, sim::verdict::passed) << r.text();
}

}  // namespace
}  // namespace websocket_chat
