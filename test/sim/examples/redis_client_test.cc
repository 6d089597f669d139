// redis_client_test.cc: the example redis_client, with a server that fails in many ways.
//
// The server has just enough of Redis. All that a connection could do to a client happens by choice
// of the schedule: it closes, also within a reply, is silent, or its host vanishes.
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <weft/net/tcp.h>
#include <weft/sim/gtest.h>
#include <weft/sim/network.h>
#include <weft/sim/sim.h>
#include <weft/weft.h>

#include "../../../examples/redis_client/connection.h"
#include "../../../examples/redis_client/load.h"
#include "../../../examples/redis_client/pool.h"
#include "../../../examples/redis_client/subscription.h"
#include "sim/examples/short_run.h"

namespace redis_client {
namespace {

using namespace std::chrono_literals;
using std::chrono::steady_clock;
using weft::net::tcp_listener;
using weft::net::tcp_stream;
namespace sim = weft::sim;

const server at_redis = [] {
    server s;
    s.address = "redis:6379";
    return s;
}();

bool happens_once_in(uint32_t n) { return sim::choose(n) == n - 1; }

std::string bulk(std::string_view text) {
    return "$" + std::to_string(text.size()) + "\r\n" + std::string(text) + "\r\n";
}

// Takes a complete command from the front of bytes.
std::optional<command> take_command(std::string& bytes) {
    std::size_t at = 0;
    const auto number = [&](char kind) -> std::optional<std::size_t> {
        const std::size_t end = bytes.find("\r\n", at);
        if (end == std::string::npos) return std::nullopt;
        EXPECT_EQ(bytes[at], kind) << "the client does not speak the protocol";
        const std::size_t n = std::stoul(bytes.substr(at + 1, end - at - 1));
        at = end + 2;
        return n;
    };
    const std::optional<std::size_t> words = number('*');
    if (!words) return std::nullopt;
    command c;
    while (c.size() < *words) {
        const std::optional<std::size_t> size = number('$');
        if (!size || bytes.size() < at + *size + 2) return std::nullopt;
        c.push_back(bytes.substr(at, *size));
        at += *size + 2;
    }
    bytes.erase(0, at);
    return c;
}

// A Redis server on the host "redis".
class tiny_redis {
public:
    tiny_redis() : host_(sim::network().add_host("redis")) { start(); }

    tiny_redis(const tiny_redis&) = delete;
    tiny_redis& operator=(const tiny_redis&) = delete;

    // One command of so many fails in some way. 0: none.
    uint32_t fails_once_in = 0;

    [[nodiscard]] const sim::host& host() const noexcept { return host_; }

    [[nodiscard]] uint64_t increments() const noexcept { return increments_; }

    // Sends the next number on each of the channels.
    void publish() {
        for (auto& [channel, number] : published_) {
            ++number;
            const std::string text = "*3\r\n" + bulk("message") + bulk(channel) + bulk(std::to_string(number));
            for (const auto all = connections_; const auto& c : all) {
                if (c->listens_to(channel)) c->queue(text);
            }
        }
    }

    // As a loss of power. What was stored is kept.
    void crash_and_restart(steady_clock::duration off) {
        host_.crash();
        stopped_.wait();
        weft::sleep_for(off);
        host_.restart();
        start();
    }

    void stop() {
        is_stopping_ = true;
        listener_->close();
        for (const auto all = connections_; const auto& c : all) c->socket.close();
        stopped_.wait();
    }

private:
    struct connected {
        explicit connected(tcp_stream s) : socket(std::move(s)) {}

        // For the green thread that writes.
        void queue(std::string bytes) const { static_cast<void>(out.try_send(std::move(bytes))); }

        tcp_stream socket;
        std::vector<std::string> channels;
        const weft::chan<std::string> out{1000};

        [[nodiscard]] bool listens_to(std::string_view channel) const {
            return std::find(channels.begin(), channels.end(), channel) != channels.end();
        }
    };

    void start() {
        weft::event listens;
        stopped_.add();
        host_.go([this, &listens] {
            listener_.emplace(weft::net::endpoint("0.0.0.0:6379"));
            listens.set();
            try {
                accept_all();
            } catch (const weft::cancelled&) {}  // a crash
            listener_.reset();
            stopped_.done();
        });
        listens.wait();
    }

    void accept_all() {
        for (;;) {
            std::error_code ec;
            tcp_stream accepted = listener_->accept(ec);
            if (ec) return;
            stopped_.go([this, s = std::move(accepted)]() mutable {
                if (is_stopping_) return;
                const auto c = std::make_shared<connected>(std::move(s));
                connections_.push_back(c);
                weft::wait_group writing;
                writing.go([&c] { write_all(*c); });
                try {
                    answer_all(*c);
                } catch (const weft::cancelled&) {}
                std::erase(connections_, c);
                c->out.close();
                c->socket.close();
                writing.wait();
            });
        }
    }

    static void write_all(connected& c) {
        try {
            std::error_code ec;
            while (const std::optional<std::string> bytes = c.out.recv()) {
                c.socket.write_all(*bytes, ec);
                if (ec) return;
            }
        } catch (const weft::cancelled&) {}
    }

    void answer_all(connected& c) {
        std::string bytes;
        char part[1000];
        std::error_code ec;
        while (const std::size_t n = c.socket.read_some(part, ec)) {
            bytes.append(part, n);
            while (const std::optional<command> asked = take_command(bytes)) {
                if (!answer(c, *asked)) return;
            }
        }
    }

    // False: the connection ends.
    bool answer(connected& c, const command& asked) {
        const std::string answer = execute(c, asked);
        if (fails_once_in != 0 && happens_once_in(fails_once_in)) {
            switch (sim::choose(3)) {
                case 0:
                    return false;
                case 1:
                    c.queue(answer.substr(0, sim::choose(static_cast<uint32_t>(answer.size() + 1))));
                    weft::sleep_for(1ms);
                    return false;
                default:
                    weft::sleep_for(std::chrono::seconds(sim::choose(60)));
            }
        }
        c.queue(answer);
        return true;
    }

    std::string execute(connected& c, const command& asked) {
        const std::string& what = asked[0];
        if (what == "PING") return "+PONG\r\n";
        if (what == "ECHO") return bulk(asked[1]);
        if (what == "GET") return bulk(values_[asked[1]]);
        if (what == "INCR") return ":" + std::to_string(++increments_) + "\r\n";
        if (what == "SET") {
            values_[asked[1]] = asked[2];
            return "+OK\r\n";
        }
        if (what != "SUBSCRIBE") return "-ERR unknown command\r\n";
        for (std::size_t i = 1; i < asked.size(); ++i) {
            published_.try_emplace(asked[i], 0);
            c.queue("*3\r\n" + bulk("subscribe") + bulk(asked[i]) + ":" + std::to_string(i) + "\r\n");
            c.channels.push_back(asked[i]);
        }
        return {};
    }

    const sim::host host_;
    std::optional<tcp_listener> listener_;
    std::vector<std::shared_ptr<connected>> connections_;
    bool is_stopping_ = false;
    std::map<std::string, std::string> values_;
    std::map<std::string, uint64_t> published_;
    uint64_t increments_ = 0;
    weft::wait_group stopped_;
};

// At most one of: nothing, a partition, a loss of power.
void disturb(tiny_redis& redis) {
    const sim::network net;
    weft::sleep_for(std::chrono::milliseconds(sim::choose(200)));
    switch (sim::choose(3)) {
        case 0:
            break;
        case 1:
            net.partition(net.local(), redis.host());
            weft::sleep_for(std::chrono::seconds(sim::choose(40)));
            net.heal();
            break;
        default:
            redis.crash_and_restart(std::chrono::seconds(sim::choose(40)));
    }
}

// Each place of the pool can be used, after as many failures as it had connections.
void expect_usable(pool& servers, std::size_t places) {
    for (std::size_t failures = 0;; ++failures) {
        ASSERT_LE(failures, places) << "the pool has no working connection";
        try {
            weft::with_timeout(60s, [&] {
                std::vector<connection_pool<connection>::lease> all;
                for (std::size_t i = 0; i < places; ++i) all.push_back(servers.borrow());
                for (auto& each : all) EXPECT_EQ(each->call({"PING"}).text(), "PONG");
            });
            return;
        } catch (const connection_error&) {}
    }
}

WEFT_SIM_TEST_WITH(SimulatedRedisClient, RepliesBelongToTheirCallsWhateverFails, sim::short_run()) {
    const sim::network net({.latency = 1ms, .jitter = 20ms, .loss = 0.02});
    tiny_redis redis;
    redis.fails_once_in = 30;
    constexpr std::size_t places = 2;
    pool servers(at_redis, places);
    load_options how;
    how.clients = 3;
    how.rounds = 3;
    how.depth = 2;
    weft::wait_group disturbing;
    disturbing.go([&] { disturb(redis); });
    const load_result r = put_load_on(servers, how);
    disturbing.wait();
    EXPECT_EQ(r.wrong, 0U);
    EXPECT_EQ(r.rounds + r.late + r.failed, how.clients * how.rounds);
    EXPECT_GE(redis.increments(), r.rounds) << "a call has succeeded that was not executed";
    EXPECT_LE(redis.increments(), how.clients * how.rounds) << "a call was executed twice";
    redis.fails_once_in = 0;
    expect_usable(servers, places);
    redis.stop();
}

WEFT_SIM_TEST_WITH(SimulatedRedisClient, APipelineLargerThanAllBuffersEnds, sim::short_run()) {
    const sim::network net({.latency = 1ms, .jitter = 2ms, .window = 3000});
    tiny_redis redis;
    std::vector<command> commands;
    for (int i = 0; i < 300; ++i) commands.push_back({"ECHO", std::to_string(i)});
    connection c(at_redis);
    const std::vector<reply> replies = c.call_all(commands);
    ASSERT_EQ(replies.size(), commands.size());
    for (std::size_t i = 0; i < replies.size(); ++i) ASSERT_EQ(replies[i].text(), commands[i][1]);
    EXPECT_TRUE(c.is_clean());
    redis.stop();
}

// What a subscriber may rely on: of each channel, no message twice and none out of order, and
// missing ones only after `lost`.
class listener_log {
public:
    void add(const event& e) {
        if (e.what == event::kind::lost) may_miss_.clear();
        if (e.what != event::kind::message) return;
        const uint64_t number = std::stoull(e.text);
        uint64_t& last = last_[e.channel];
        if (may_miss_[e.channel]++ == 0) {
            EXPECT_GT(number, last) << "an old message";
        } else {
            EXPECT_EQ(number, last + 1) << "a message is missing";
        }
        last = number;
    }

    [[nodiscard]] uint64_t last(const std::string& channel) { return last_[channel]; }

private:
    std::map<std::string, uint64_t> last_;
    std::map<std::string, uint64_t> may_miss_;  // messages since the connection was made
};

WEFT_SIM_TEST_WITH(SimulatedRedisClient, ASubscriberMissesNothingWithoutBeingTold, sim::short_run()) {
    const sim::network net({.latency = 1ms, .jitter = 20ms, .loss = 0.02});
    tiny_redis redis;
    redis.fails_once_in = 4;
    const weft::chan<event> events(2);
    weft::scope([&](weft::task_scope& s) {
        s.go([&] { subscribe(at_redis, {"a", "b"}, events); });
        weft::wait_group disturbing;
        disturbing.go([&] {
            disturb(redis);
            redis.fails_once_in = 0;
        });
        weft::wait_group publishing;
        bool ends = false;
        publishing.go([&] {
            while (!ends) {
                redis.publish();
                weft::sleep_for(std::chrono::milliseconds(1 << sim::choose(14)));
            }
        });
        listener_log log;
        const auto hear_until = [&](auto is_over) {
            while (!is_over()) {
                const weft::recv_result<event> e = events.recv_for(1s);
                if (e) log.add(*e);
            }
        };
        const auto begin = steady_clock::now();
        hear_until([&] { return steady_clock::now() - begin > 60s; });
        disturbing.wait();
        const uint64_t a = log.last("a");
        const uint64_t b = log.last("b");
        const auto limit = steady_clock::now() + 120s;
        hear_until([&] { return steady_clock::now() > limit || (log.last("a") > a && log.last("b") > b); });
        EXPECT_LT(steady_clock::now(), limit) << "the subscriber has not come back";
        ends = true;
        publishing.wait();
        s.cancel();
    });
    redis.stop();
}

}  // namespace
}  // namespace redis_client
