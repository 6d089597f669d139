// network_test.cc: a proxy that delays, cuts and loses bytes between client and server, and TLS.
#include <atomic>
#include <chrono>
#include <fstream>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include <weft/redis/consumer.h>

#include "redis/served.h"
#include "support/fault_proxy.h"

#ifdef WEFT_TEST_WITH_TLS
#include <weft/tls/error.h>
#include <weft/tls/stream.h>

#include "tls/certificates.h"
#endif

namespace weft::test {
namespace {

using redis::client;
using redis::errc;

using RedisNetwork = redis_test;
WEFT_SWEEP_OVER(RedisNetwork, 1U, 4U);

std::string address_of(const fault_proxy& p) { return "127.0.0.1:" + std::to_string(p.at().port); }

TEST_P(RedisNetwork, RepliesInCrumbsAndWithDelaysReachTheirCallers) {
    const redis_server s;
    fault_proxy proxy({.port = s.port(), .name = {}}, [](int number) {
        return fault_plan{.up = {.jitter = 2ms, .piece = 3},
                          .down = {.jitter = 2ms, .piece = 5},
                          .seed = static_cast<uint64_t>(number) + 1};
    });
    rt().run([&] {
        client c({.address = address_of(proxy), .connections_max = 3});
        std::atomic<int> wrong = 0;
        weft::wait_group all;
        for (int i = 0; i < 6; ++i) {
            all.go([&, i] {
                for (int k = 0; k < 4; ++k) {
                    const std::string text = std::to_string(i) + ":" + std::to_string(k);
                    if (c.call<std::string>({"ECHO", text}) != text) ++wrong;
                }
            });
        }
        all.wait();
        EXPECT_EQ(wrong, 0);
    });
}

// Each connection ends in the middle of a reply; entries are acknowledged once each has been seen.
TEST_P(RedisNetwork, AConsumerLosesNoEntryOverConnectionsThatAreCut) {
    const redis_server s;
    fault_proxy proxy({.port = s.port(), .name = {}}, [](int number) {
        return number >= 8 ? fault_plan{}
                           : fault_plan{.up = {},
                                        .down = {.after = 60U + 37U * static_cast<unsigned>(number),
                                                 .then = number % 2 == 0 ? fate::cut : fate::reset}};
    });
    rt().run([&] {
        client direct(s.at());
        for (int i = 0; i < 40; ++i) direct.call({"XADD", "jobs", "*", "task", i});
        redis::consumer jobs(client({.address = address_of(proxy), .reply_time = 5s}),
                             {.stream = "jobs", .group = "g", .name = "n", .batch = 5, .block_time = 1s});
        std::set<std::string> seen;
        while (seen.size() < 40) {
            const redis::entry e = jobs.next();
            seen.insert(std::string(e.field("task")));
            jobs.ack(e);
        }
        EXPECT_EQ(direct.call({"XPENDING", "jobs", "g"})[0].integer(), 0);
        EXPECT_GT(proxy.now().fated, 3);
    });
}

TEST_P(RedisNetwork, AnIncrementOverALostReplyIsNeverRepeated) {
    const redis_server s;
    fault_proxy proxy({.port = s.port(), .name = {}},
                      [](int) { return fault_plan{.up = {}, .down = {.after = 20, .then = fate::swallow}}; });
    rt().run([&] {
        client c({.address = address_of(proxy), .reply_time = 100ms});
        int confirmed = 0;
        int unknown = 0;
        for (int i = 0; i < 12; ++i) ++(code_of([&] { c.call({"INCR", "n"}); }) ? unknown : confirmed);
        const int n = client(s.at()).call<int>({"GET", "n"});
        EXPECT_GE(n, confirmed);
        EXPECT_LE(n, confirmed + unknown);
        EXPECT_GT(unknown, 0);
        EXPECT_GT(confirmed, 0);
    });
}

#ifdef WEFT_TEST_WITH_TLS

TEST_P(RedisNetwork, Tls) {
    const temp_folder files;
    const tls::certificate own = test_authority().issue({.hosts = {"redis.test"}});
    std::ofstream(files / "chain") << own.chain;
    std::ofstream(files / "key") << own.key;
    const held_port port;
    const redis_server s({"--save", "", "--tls-port", std::to_string(port.port()), "--tls-cert-file", files / "chain",
                          "--tls-key-file", files / "key", "--tls-auth-clients", "no"});
    rt().run([&] {
        const tls::context trust = tls::context::client({.trust_system = false, .trusted = test_authority().pem()});
        const auto at = [&](std::string host) {
            redis::client_options how;
            how.connections_max = 2;
            how.connect = [&trust, &port, host] {
                return redis::make_transport(
                    tls::stream::connect(net::endpoint("127.0.0.1:" + std::to_string(port.port())), host, trust));
            };
            return how;
        };
        client c(at("redis.test"));
        const std::string large(1'000'000, 'x');
        c.call({"SET", "large", large});
        EXPECT_EQ(c.call<std::string>({"GET", "large"}), large);
        for (int i = 0; i < 20; ++i) EXPECT_EQ(c.call<int>({"INCR", "n"}), i + 1);
        EXPECT_EQ(c.stats().connections, 1U) << "an idle connection is used again";
        EXPECT_THROW(weft::with_timeout(20ms, [&] { c.call({"BLPOP", "none", 0}); }), weft::timed_out);
        EXPECT_EQ(c.call<std::string>({"ECHO", "after"}), "after");
        EXPECT_TRUE(code_of([&] { client(at("other.test")).call("PING"); })) << "of another host";
    });
}

#endif

}  // namespace
}  // namespace weft::test
