// network_test.cc: a proxy that delays and cuts between client and server, and TLS.
#include <atomic>
#include <chrono>
#include <string>

#include "postgres/served.h"
#include "support/fault_proxy.h"

#ifdef WEFT_TEST_WITH_TLS
#include "tls/certificates.h"
#endif

namespace weft::test {
namespace {

using postgres::client;
using postgres::errc;

using PostgresNetwork = postgres_test;
WEFT_SWEEP_OVER(PostgresNetwork, 1U, 4U);

std::string over(const fault_proxy& p) {
    return "host=127.0.0.1 port=" + std::to_string(p.at().port) + " user=owner dbname=postgres sslmode=disable";
}

TEST_P(PostgresNetwork, ResultsInCrumbsAndWithDelaysReachTheirCallers) {
    fault_proxy proxy({.port = s->port(), .name = {}}, [](int number) {
        return fault_plan{.up = {.jitter = 1ms, .piece = 30},
                          .down = {.jitter = 1ms, .piece = 40},
                          .seed = static_cast<uint64_t>(number) + 1};
    });
    rt().run([&] {
        client c({.conninfo = over(proxy), .connections_max = 2});
        std::atomic<int> wrong = 0;
        weft::wait_group all;
        for (int i = 0; i < 4; ++i) {
            all.go([&, i] {
                for (int k = 0; k < 3; ++k)
                    if (c.query({"SELECT $1::int", 10 * i + k}).value<int>() != 10 * i + k) ++wrong;
            });
        }
        all.wait();
        EXPECT_EQ(wrong, 0);
    });
}

// What was confirmed is there; what was not may be. Nothing is there twice.
TEST_P(PostgresNetwork, NothingThatWasConfirmedIsLostOverConnectionsThatAreCut) {
    fault_proxy proxy({.port = s->port(), .name = {}}, [](int number) {
        return fault_plan{.up = {},
                          .down = {.after = 600U + 53U * static_cast<unsigned>(number % 10),
                                   .then = number % 2 == 0 ? fate::cut : fate::reset}};
    });
    rt().run([&] {
        client direct(s->at());
        direct.query("DROP TABLE IF EXISTS sent");
        direct.query("CREATE TABLE sent (n int)");
        client c({.conninfo = over(proxy), .connections_max = 1});
        int confirmed = 0;
        int unknown = 0;
        for (int i = 0; i < 60; ++i)
            ++(code_of([&] { c.query({"INSERT INTO sent VALUES ($1)", i}); }) ? unknown : confirmed);
        const int n = direct.query("SELECT count(*) FROM sent").value<int>();
        EXPECT_GE(n, confirmed);
        EXPECT_LE(n, confirmed + unknown);
        EXPECT_EQ(direct.query("SELECT count(DISTINCT n) FROM sent").value<int>(), n);
        EXPECT_GT(confirmed, 0);
        EXPECT_GT(unknown, 0);
    });
}

#ifdef WEFT_TEST_WITH_TLS

TEST_P(PostgresNetwork, Tls) {
    const tls::certificate own = test_authority().issue({.hosts = {"localhost"}});
    const std::string chain = s->write_file("chain", own.chain);
    const std::string key = s->write_file("key", own.key);
    const std::string trusted = s->write_file("trusted", test_authority().pem());
    const std::string foreign = s->write_file("foreign", authority("another one").pem());
    rt().run([&] {
        client admin(s->at());
        admin.query(postgres::statement("ALTER SYSTEM SET ssl_cert_file = '" + chain + "'"));
        admin.query(postgres::statement("ALTER SYSTEM SET ssl_key_file = '" + key + "'"));
        admin.query("ALTER SYSTEM SET ssl = on");
        admin.query("SELECT pg_reload_conf()");
        const auto at = [&](const std::string& host, const std::string& root) {
            return postgres::client_options{
                .conninfo = "host=" + host + " hostaddr=127.0.0.1 port=" + std::to_string(s->port()) +
                            " user=owner dbname=postgres sslmode=verify-full sslrootcert=" + root,
                .connections_max = 1};
        };
        eventually([&] { return !code_of([&] { client(at("localhost", trusted)).query("SELECT 1"); }); });
        client c(at("localhost", trusted));
        const std::string large(1'000'000, 'x');
        EXPECT_EQ(c.query({"SELECT $1::text", large}).value<std::string>(), large);
        EXPECT_TRUE(c.query("SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()").value<bool>());
        EXPECT_THROW(weft::with_timeout(20ms, [&] { c.query("SELECT pg_sleep(100)"); }), weft::timed_out);
        EXPECT_EQ(c.query("SELECT 2").value<int>(), 2);
        EXPECT_EQ(code_of([&] { client(at("other.test", trusted)).query("SELECT 1"); }), errc::could_not_connect);
        EXPECT_EQ(code_of([&] { client(at("localhost", foreign)).query("SELECT 1"); }), errc::could_not_connect);
    });
}

#endif

}  // namespace
}  // namespace weft::test
