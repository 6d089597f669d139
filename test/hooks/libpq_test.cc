// libpq, unmodified and blocking, on green threads.
#include <libpq-fe.h>

#include <atomic>
#include <chrono>
#include <string>

#include <gtest/gtest.h>

#include <weft/weft.h>

#include "postgres/served.h"

namespace weft::test {

using HooksWithLibpq = procs_test;

INSTANTIATE_TEST_SUITE_P(Procs, HooksWithLibpq, ::testing::Values(1U, 2U), [](const auto& p) {
    return "P" + std::to_string(p.param);
});

TEST_P(HooksWithLibpq, ClientsWaitAtTheSameTime) {
    if (postgres_programs().empty()) GTEST_SKIP() << "no PostgreSQL; run: apt-get install postgresql";
    const std::string where = postgres_server::the_one().conninfo();
    constexpr int clients = 40;
    std::atomic<int> passed{0};
    std::string error;
    const auto before = std::chrono::steady_clock::now();
    rt().run([&] {
        wait_group all;
        for (int i = 0; i < clients; ++i) {
            all.go([&, i] {
                PGconn* c = ::PQconnectdb(where.c_str());
                if (::PQstatus(c) == CONNECTION_OK) {
                    PGresult* r = ::PQexec(c, ("SELECT pg_sleep(0.2), " + std::to_string(i) + " * 2").c_str());
                    if (::PQresultStatus(r) == PGRES_TUPLES_OK && ::PQgetvalue(r, 0, 1) == std::to_string(2 * i)) {
                        ++passed;
                    } else {
                        error = ::PQerrorMessage(c);
                    }
                    ::PQclear(r);
                } else {
                    error = ::PQerrorMessage(c);
                }
                ::PQfinish(c);
            });
        }
        all.wait();
    });
    EXPECT_EQ(passed, clients) << error;
    EXPECT_LT(std::chrono::steady_clock::now() - before, std::chrono::seconds(6)) << "one after the other: 8 s";
}

}  // namespace weft::test
