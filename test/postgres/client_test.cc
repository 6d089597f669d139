// client_test.cc: values, errors, pipelines, transactions, the pool.
#include <atomic>
#include <cmath>
#include <limits>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "postgres/served.h"

namespace weft::test {
namespace {

using postgres::client;
using postgres::isolation;
using postgres::statement;

using PostgresClient = postgres_test;
WEFT_SWEEP_OVER(PostgresClient, 1U, 4U);

TEST_P(PostgresClient, ValuesAreTyped) {
    rt().run([this] {
        client c(s->at());
        const auto r = c.query({"SELECT $1::int AS a, $2::float8, $3::bool, $4::text, $5::bytea, $6::int AS n", -7, 0.1,
                                true, "it's $1", postgres::bytes{std::string("\0\xff\n", 3)}, nullptr});
        ASSERT_EQ(r.size(), 1U);
        ASSERT_EQ(r.columns(), 6U);
        EXPECT_EQ(r[0].as<int>("a"), -7);
        EXPECT_EQ(r[0].as<double>(1), 0.1);
        EXPECT_TRUE(r[0].as<bool>(2));
        EXPECT_EQ(r[0].as<std::string>(3), "it's $1");
        EXPECT_EQ(r[0].as<postgres::bytes>(4).data, std::string("\0\xff\n", 3));
        EXPECT_EQ(r[0].as<std::optional<int>>("n"), std::nullopt);
        EXPECT_EQ(r.column_name(0), "a");
        EXPECT_EQ(r.tag(), "SELECT 1");
        const auto infinite = c.query({"SELECT $1::float8", std::numeric_limits<double>::infinity()});
        EXPECT_TRUE(std::isinf(infinite.value<double>()));
        EXPECT_EQ(c.query({"SELECT $1::bigint", std::optional<long>(1L << 40)}).value<long>(), 1L << 40);
        int sum = 0;
        for (const postgres::row row : c.query("SELECT * FROM generate_series(1, 100)")) sum += row.as<int>(0);
        EXPECT_EQ(sum, 5050);
    });
}

TEST_P(PostgresClient, AWrongConversionSaysWhatTheValueIs) {
    rt().run([this] {
        client c(s->at());
        const auto r = c.query("SELECT 'text' AS t, NULL::int AS n, 300 AS big");
        EXPECT_EQ(code_of([&] { static_cast<void>(r[0].as<int>("t")); }), postgres::errc::wrong_kind);
        EXPECT_EQ(code_of([&] { static_cast<void>(r[0].as<int>("n")); }), postgres::errc::wrong_kind);
        EXPECT_EQ(code_of([&] { static_cast<void>(r[0].as<int8_t>("big")); }), postgres::errc::wrong_kind);
        EXPECT_EQ(code_of([&] { static_cast<void>(r[0].as<int>("none")); }), postgres::errc::wrong_kind);
        EXPECT_EQ(code_of([&] { static_cast<void>(r[1]); }), postgres::errc::wrong_kind);
        EXPECT_EQ(code_of([&] { static_cast<void>(r.value<int>()); }), postgres::errc::wrong_kind);
        EXPECT_THROW(c.query({"SELECT $1", std::string("a\0b", 3)}), std::invalid_argument);
        EXPECT_EQ(c.query("SELECT 1").value<int>(), 1);
    });
}

TEST_P(PostgresClient, ErrorsHaveTheSqlstate) {
    rt().run([this] {
        client c(s->at());
        c.query("DROP TABLE IF EXISTS people");
        c.query("CREATE TABLE people (id int CONSTRAINT people_id PRIMARY KEY)");
        EXPECT_EQ(c.query("INSERT INTO people VALUES (1), (2)").affected(), 2U);
        try {
            c.query({"INSERT INTO people VALUES ($1)", 1});
            FAIL() << "no error";
        } catch (const postgres::server_error& e) {
            EXPECT_EQ(e.sqlstate(), "23505");
            EXPECT_EQ(e.details().constraint, "people_id");
            EXPECT_EQ(e.details().table, "people");
            EXPECT_FALSE(e.details().detail.empty());
        }
        EXPECT_EQ(sqlstate_of([&] { c.query("SELEC"); }), "42601");
        EXPECT_EQ(c.stats().connections, 1U) << "the connection is still in use";
    });
}

TEST_P(PostgresClient, BadOptionsAreRefused) {
    rt().run([] {
        EXPECT_THROW(client({.connections_max = 0}), std::invalid_argument);
        EXPECT_THROW(client({.connect_time = 0s}), std::invalid_argument);
        EXPECT_EQ(code_of([] { client({.conninfo = "nonsense"}).query("SELECT 1"); }), postgres::errc::bad_conninfo);
        EXPECT_EQ(code_of([] { client({.conninfo = "host=a,b port=1,2,3"}).query("SELECT 1"); }),
                  postgres::errc::bad_conninfo);
    });
}

TEST_P(PostgresClient, RowsComeOneByOne) {
    rt().run([this] {
        client c(s->at());
        long sum = 0;
        const auto end =
            c.each_row("SELECT * FROM generate_series(1, 20000)", [&](const postgres::row& r) { sum += r.as<int>(0); });
        EXPECT_EQ(sum, 20'000L * 20'001 / 2);
        EXPECT_EQ(end.size(), 0U);
        EXPECT_EQ(end.affected(), 20'000U);
        struct enough {};
        EXPECT_THROW(c.each_row("SELECT generate_series(1, 100000000)", [](const postgres::row&) { throw enough(); }),
                     enough);
        eventually([&] { return c.stats().idle == 1; });  // the statement was stopped, and the connection kept
        EXPECT_EQ(c.query("SELECT 1").value<int>(), 1);
    });
}

TEST_P(PostgresClient, APipelineIsOneTransaction) {
    rt().run([this] {
        client c(s->at());
        c.query("DROP TABLE IF EXISTS log");
        c.query("CREATE TABLE log (n int)");
        std::vector<statement> inserts;
        for (int i = 0; i < 1'000; ++i) inserts.push_back(statement("INSERT INTO log VALUES ($1)", i).prepared());
        inserts.emplace_back("SELECT count(*) FROM log");
        EXPECT_EQ(c.query_all(inserts).back().value<int>(), 1'000);
        EXPECT_EQ(sqlstate_of([&] { c.query_all({"INSERT INTO log VALUES (9)", "SELECT 1/0", "SELECT 1"}); }), "22012");
        EXPECT_EQ(c.query("SELECT count(*) FROM log").value<int>(), 1'000) << "all or none";
        EXPECT_TRUE(c.query_all({}).empty());
    });
}

TEST_P(PostgresClient, PreparedStatementsArePlannedOnce) {
    rt().run([this] {
        client c({.conninfo = s->conninfo(), .connections_max = 1});
        for (int i = 0; i < 10; ++i)
            EXPECT_EQ(c.query(statement("SELECT $1::int + 1", i).prepared()).value<int>(), i + 1);
        EXPECT_EQ(c.query("SELECT count(*) FROM pg_prepared_statements").value<int>(), 1);
        EXPECT_EQ(sqlstate_of([&] { c.query(statement("SELEC").prepared()); }), "42601");
        for (int i = 0; i < 300; ++i) c.query(statement("SELECT " + std::to_string(i)).prepared());
        EXPECT_EQ(c.query("SELECT count(*) FROM pg_prepared_statements").value<int>(), 256)
            << "their number is limited";
    });
}

TEST_P(PostgresClient, ATransactionIsUndoneUnlessItIsCommitted) {
    rt().run([this] {
        client c(s->at());
        c.query("DROP TABLE IF EXISTS t");
        c.query("CREATE TABLE t (n int)");
        {
            postgres::transaction t = c.begin();
            t.query("INSERT INTO t VALUES (1)");
        }
        {
            postgres::transaction t = c.begin();
            t.query("INSERT INTO t VALUES (2)");
            t.commit();
        }
        postgres::transaction failed = c.begin();
        EXPECT_EQ(sqlstate_of([&] { failed.query("SELECT 1/0"); }), "22012");
        EXPECT_EQ(sqlstate_of([&] { failed.commit(); }), "25P02");
        eventually([&] { return c.stats().idle + 1 == c.stats().connections; });
        EXPECT_EQ(c.query("SELECT sum(n) FROM t").value<int>(), 2);
    });
}

TEST_P(PostgresClient, ConflictingTransactionsAreRepeated) {
    rt().run([this] {
        client c(s->at());
        c.query("DROP TABLE IF EXISTS counter");
        c.query("CREATE TABLE counter (n int)");
        c.query("INSERT INTO counter VALUES (0)");
        weft::wait_group all;
        for (int i = 0; i < 5; ++i) {
            all.go([&] {
                for (int k = 0; k < 10; ++k) {
                    c.in_transaction(
                        isolation::serializable,
                        [](postgres::transaction& t) {
                            const int n = t.query("SELECT n FROM counter").value<int>();
                            t.query({"UPDATE counter SET n = $1", n + 1});
                        },
                        1'000);
                }
            });
        }
        all.wait();
        EXPECT_EQ(c.query("SELECT n FROM counter").value<int>(), 50);
        EXPECT_EQ(
            sqlstate_of([&] { c.in_transaction(isolation::read_committed, [](auto& t) { t.query("SELECT 1/0"); }); }),
            "22012");
    });
}

TEST_P(PostgresClient, ASessionLeavesNothingBehind) {
    rt().run([this] {
        client c({.conninfo = s->conninfo(), .connections_max = 1});
        const int before = c.query("SELECT pg_backend_pid()").value<int>();
        {
            postgres::session on = c.open();
            on.query("SET application_name = 'changed'");
            on.query("CREATE TEMP TABLE mine (n int)");
            on.query("BEGIN");
        }
        EXPECT_NE(c.query("SELECT current_setting('application_name')").value<std::string>(), "changed");
        EXPECT_EQ(sqlstate_of([&] { c.query("SELECT * FROM mine"); }), "42P01");
        EXPECT_EQ(c.query("SELECT pg_backend_pid()").value<int>(), before) << "the connection was kept";
    });
}

TEST_P(PostgresClient, ManyCallersShareFewConnections) {
    rt().run([this] {
        client c({.conninfo = s->conninfo(), .connections_max = 3});
        std::atomic<int> wrong = 0;
        weft::wait_group all;
        for (int i = 0; i < 100; ++i) {
            all.go([&, i] {
                for (int k = 0; k < 5; ++k) {
                    if (c.query({"SELECT $1::int", i * k}).value<int>() != i * k) ++wrong;
                }
            });
        }
        all.wait();
        EXPECT_EQ(wrong, 0);
        EXPECT_EQ(c.stats().connections, 3U);
    });
}

}  // namespace
}  // namespace weft::test
