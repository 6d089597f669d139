// hard_times_test.cc: servers that are down, killed, slow and silent; callers that are interrupted.
#include <atomic>
#include <chrono>
#include <map>
#include <mutex>
#include <string>

#include <weft/nats/jetstream.h>

#include "nats/served.h"

namespace weft::test {
namespace {

using nats::client;
using nats::connection_event;
using nats::delivery;
using nats::errc;
using nats::jetstream;

using NatsHardTimes = nats_test;
WEFT_SWEEP_OVER(NatsHardTimes, 1U, 4U);

TEST_P(NatsHardTimes, NoServer) {
    rt().run([] {
        const held_port port;
        const auto connect = [](const std::string& url) {
            return code_of([&] { const client c({.servers = {url}}); });
        };
        EXPECT_EQ(connect("nats://127.0.0.1:" + std::to_string(port.port())), errc::could_not_connect);
        EXPECT_EQ(connect("nats://127.0.0.1:" + std::to_string(port.port())), std::errc::connection_refused);
    });
}

TEST_P(NatsHardTimes, TheClientOutlivesItsServer) {
    nats_server s;
    rt().run([&] {
        client c(s.at());
        const nats::subscription sub = c.subscribe("a");
        const nats::subscription silent = c.subscribe("silent");
        auto waiting = weft::async([&] { return code_of([&] { static_cast<void>(c.request("silent", "")); }); });
        EXPECT_EQ(silent.next()->subject, "silent");
        s.kill();
        EXPECT_EQ(waiting.get(), errc::connection_lost);
        EXPECT_EQ(c.events().recv(), connection_event::disconnected);
        EXPECT_FALSE(c.is_connected());
        c.publish("a", "kept");  // until there is a connection again
        s.start();
        EXPECT_EQ(c.events().recv(), connection_event::reconnected);
        EXPECT_EQ(sub.next()->data, "kept");
        c.flush();
    });
}

TEST_P(NatsHardTimes, WhatIsKeptWithoutAConnectionIsLimited) {
    nats_server s;
    rt().run([&] {
        nats::client_options how = s.at();
        how.reconnect_buffer = 10'000;
        client c(how);
        s.kill();
        EXPECT_EQ(c.events().recv(), connection_event::disconnected);
        const std::string text(1'000, 'x');
        std::error_code ec;
        for (int i = 0; i < 100 && !ec; ++i) ec = code_of([&] { c.publish("a", text); });
        EXPECT_EQ(ec, errc::buffer_full);
        s.start();
        eventually([&] { return c.is_connected(); });
        c.flush();
    });
}

TEST_P(NatsHardTimes, AStoppedServerIsNoticed) {
    const nats_server s;
    rt().run([&] {
        nats::client_options how = s.at();
        how.request_time = 50ms;
        how.ping_interval = 50ms;
        client c(how);
        c.flush();
        s.stop();
        EXPECT_NE(code_of([&] { c.flush(); }), std::error_code());
        EXPECT_EQ(c.events().recv(), connection_event::disconnected) << "it does not answer to PING";
        s.go_on();
        eventually([&] { return !code_of([&] { c.flush(); }); });
    });
}

TEST_P(NatsHardTimes, AnInterruptionLosesNoDelivery) {
    const nats_server s;
    rt().run([&] {
        client c(s.at());
        jetstream js(c);
        js.add_stream({.name = "JOBS"});
        js.add_consumer("JOBS", {.name = "workers"});
        nats::pull_consumer jobs = js.pull("JOBS", "workers");
        EXPECT_THROW(weft::with_timeout(20ms, [&] { static_cast<void>(jobs.next()); }), weft::timed_out);
        js.publish("JOBS", "x");
        EXPECT_EQ(jobs.next().data(), "x");
    });
}

// A producer repeats what was not confirmed, with an id. Workers handle messages while the server
// is killed and restarted, and is stopped for a while. Each message is stored once, and handled at
// least once.
TEST_P(NatsHardTimes, NothingIsLostWhenTheServerIsKilled) {
    constexpr std::size_t count = 400;
    nats_server s;
    rt().run([&] {
        nats::client_options how = s.at();
        how.request_time = 500ms;
        client c(how);
        jetstream js(c);
        js.add_stream({.name = "JOBS"});
        js.add_consumer("JOBS", {.name = "workers", .ack_wait = 1s});
        std::map<std::string, int> handled;
        std::atomic<std::size_t> different = 0;
        weft::mutex lock;
        weft::scope([&](weft::task_scope& workers) {
            for (int i = 0; i < 3; ++i) {
                workers.go([&] {
                    nats::pull_consumer jobs = jetstream(c).pull("JOBS", "workers", 8);
                    while (different < count) {
                        try {
                            const delivery d = weft::with_timeout(200ms, [&] { return jobs.next(); });
                            {
                                const std::lock_guard<weft::mutex> locked(lock);
                                ++handled[d.data()];
                                different = handled.size();
                            }
                            static_cast<void>(code_of([&] { jobs.ack(d); }));
                        } catch (const weft::timed_out&) {
                            continue;
                        }
                    }
                });
            }
            workers.go([&] {
                for (std::size_t i = 0; i < count; ++i) {
                    const std::string n = std::to_string(i);
                    while (code_of([&] { js.publish("JOBS", n, {.id = n}); })) weft::sleep_for(5ms);
                }
            });
            for (const std::size_t at : {count / 8, count / 3}) {
                eventually([&] { return different > at; });
                s.kill();
                s.start();
            }
            eventually([&] { return different > count * 3 / 4; });
            s.stop();
            weft::sleep_for(100ms);
            s.go_on();
        });
        EXPECT_EQ(handled.size(), count);
        eventually([&] {
            uint64_t stored = 0;
            return !code_of([&] { stored = js.messages("JOBS"); }) && stored == count;
        });
    });
}

TEST_P(NatsHardTimes, AServerThatDoesNotReadIsGivenUpAfterTwoPingIntervals) {
    const nats_server s;
    rt().run([&] {
        nats::client_options how = s.at();
        how.connect_time = 200ms;
        how.ping_interval = 200ms;
        nats::client c(how);
        c.publish("a", "b");
        c.flush();
        s.stop();
        const std::string large(512 * 1024, 'x');
        for (int i = 0; i < 64; ++i) {
            static_cast<void>(code_of([&] { c.publish("a", large); }));
        }
        eventually([&] { return !c.is_connected(); });
        s.go_on();
        eventually([&] { return c.is_connected() && !code_of([&] { c.flush(); }); });
    });
}

// Makes a certificate for 127.0.0.1 that signs itself, in the files NAME.cert and NAME.key.
void make_certificate(const temp_folder& in, const std::string& name) {
    server_process openssl;
    openssl.start({"openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                   "-days", "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout",
                   in / (name + ".key"), "-out", in / (name + ".cert")},
                  in / "openssl.log");
    ASSERT_EQ(openssl.wait(), 0) << "see the log of openssl";
}

TEST_P(NatsHardTimes, TlsNeedsACertificateThatCaFileSigns) {
    if (!has_program("openssl")) GTEST_SKIP() << "no openssl; run: apt-get install openssl";
    const temp_folder files;
    make_certificate(files, "good");
    make_certificate(files, "other");
    const held_port port;
    server_process server;
    server.start({"nats-server", "-a", "127.0.0.1", "-p", std::to_string(port.port()), "--tls", "--tlscert",
                  files / "good.cert", "--tlskey", files / "good.key"},
                 files / "log");
    rt().run([&] {
        const std::string at = "127.0.0.1:" + std::to_string(port.port());
        const auto error_with = [&](const std::string& scheme, const std::string& ca) {
            return code_of([&] { const client c({.servers = {scheme + at}, .ca_file = ca}); });
        };
        eventually([&] { return !error_with("tls://", files / "good.cert"); });
        EXPECT_EQ(error_with("tls://", files / "other.cert"), errc::could_not_connect);
        EXPECT_EQ(error_with("nats://", ""), errc::could_not_connect);
        client c({.servers = {"tls://" + at}, .ca_file = files / "good.cert"});
        const nats::subscription s = c.subscribe("large");
        const std::string large(512 * 1024, 'x');
        for (int i = 0; i < 8; ++i) c.publish("large", large);
        for (int i = 0; i < 8; ++i) EXPECT_EQ(s.next()->data, large);
    });
    server.end(SIGKILL);
}

TEST_P(NatsHardTimes, ARefusedLoginAfterARestartEndsSubscriptions) {
    const temp_folder files;
    const held_port port;
    server_process server;
    const auto start = [&](const std::string& password) {
        server.start(
            {"nats-server", "-a", "127.0.0.1", "-p", std::to_string(port.port()), "--user", "u", "--pass", password},
            files / "log");
    };
    start("first");
    rt().run([&] {
        const nats::client_options how{.servers = {"nats://127.0.0.1:" + std::to_string(port.port())},
                                       .user = "u",
                                       .password = "first",
                                       .reconnect_wait = 20ms};
        eventually([&] { return !code_of([&] { const client probe(how); }); });
        client c(how);
        const nats::subscription s = c.subscribe("news");
        server.end(SIGKILL);
        start("second");
        EXPECT_FALSE(weft::with_timeout(10s, [&] { return s.next(); }));
        EXPECT_EQ(code_of([&] { c.publish("news", ""); }), errc::client_closed);
    });
    server.end(SIGKILL);
}

}  // namespace
}  // namespace weft::test
