// network_test.cc: a proxy that delays and cuts between client and server, and TLS.
#include <chrono>
#include <fstream>
#include <set>
#include <string>

#include <weft/nats/jetstream.h>

#include "nats/served.h"
#include "support/fault_proxy.h"

#ifdef WEFT_TEST_WITH_TLS
#include "tls/certificates.h"
#endif

namespace weft::test {
namespace {

using nats::client;
using nats::errc;

using NatsNetwork = nats_test;
WEFT_SWEEP_OVER(NatsNetwork, 1U, 4U);

// Messages are published with identifiers, and repeated until they are confirmed: each is stored
// once, and is delivered and acknowledged although connections are cut.
TEST_P(NatsNetwork, JetStreamLosesNothingOverConnectionsThatAreCut) {
    const nats_server s;
    fault_proxy proxy({.port = s.port(), .name = {}}, [](int number) {
        if (number >= 10) return fault_plan{};
        return fault_plan{.up = {},
                          .down = {
                              .jitter = 1ms,
                              .piece = 50,
                              .after = 2000U + 531U * static_cast<unsigned>(number),
                              .then = number % 2 == 0 ? fate::cut : fate::reset,
                          }};
    });
    rt().run([&] {
        nats::client_options how = s.at();
        nats::jetstream direct(client{how});
        direct.add_stream({.name = "JOBS", .subjects = {"jobs"}, .in_memory = true});
        direct.add_consumer("JOBS", {.name = "workers", .ack_wait = 1s});
        how.servers = {"nats://127.0.0.1:" + std::to_string(proxy.at().port)};
        how.request_time = 1s;
        client c(how);
        nats::jetstream js(c);
        for (int i = 0; i < 60; ++i)
            eventually(
                [&] { return !code_of([&] { js.publish("jobs", std::to_string(i), {.id = std::to_string(i)}); }); });
        EXPECT_EQ(direct.messages("JOBS"), 60U);
        nats::pull_consumer jobs = js.pull("JOBS", "workers", 8);
        std::set<std::string> seen;
        while (seen.size() < 60) {
            const nats::delivery d = jobs.next();
            seen.insert(d.data());
            static_cast<void>(code_of([&] { jobs.ack(d); }));
        }
        EXPECT_GT(proxy.now().fated, 1);
    });
}

#ifdef WEFT_TEST_WITH_TLS

TEST_P(NatsNetwork, Tls) {
    const temp_folder files;
    std::ofstream(files / "trusted") << test_authority().pem();
    std::ofstream(files / "foreign") << authority("another one").pem();
    const auto write = [&](const std::string& host) {
        const tls::certificate own = test_authority().issue({.hosts = {host}});
        std::ofstream(files / "chain") << own.chain;
        std::ofstream(files / "key") << own.key;
    };
    write("127.0.0.1");
    nats_server s({"--tls", "--tlscert", files / "chain", "--tlskey", files / "key"}, files / "trusted");
    rt().run([&] {
        client c(s.at());
        const nats::subscription all = c.subscribe("a");
        const std::string large(500'000, 'x');
        c.publish("a", large);
        EXPECT_EQ(all.next()->data, large);
        nats::client_options how = s.at();
        how.ca_file = files / "foreign";
        EXPECT_EQ(code_of([&] { const client other(how); }), errc::could_not_connect);
        how.ca_file.clear();
        EXPECT_EQ(code_of([&] { const client other(how); }), errc::could_not_connect)
            << "an authority that is not trusted";
    });
    s.kill();
    write("other.test");
    s.start_process();
    rt().run([&] {
        // Until it listens, there is no connection either: ask for the reason.
        std::string why;
        eventually([&] {
            try {
                const client c(s.at());
                return true;
            } catch (const std::system_error& e) {
                why = e.what();
                return why.find("SSL") != std::string::npos;
            }
        });
        EXPECT_NE(why.find("SSL"), std::string::npos) << "a certificate of another host";
    });
}

#endif

}  // namespace
}  // namespace weft::test
