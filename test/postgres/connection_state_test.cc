// connection_state_test.cc: no caller leaves a connection in a state that the next one notices, and
// values that libpq would cut off or refuse are refused before anything is sent.
#include <chrono>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <weft/postgres/copy.h>
#include <weft/postgres/subscription.h>

#include "postgres/served.h"

namespace weft::test {
namespace {

using postgres::client;
using postgres::errc;
using postgres::statement;

using PostgresConnectionState = postgres_test;
WEFT_SWEEP_OVER(PostgresConnectionState, 1U, 4U);

client one_connection(const postgres_server& s) { return client({.conninfo = s.conninfo(), .connections_max = 1}); }

int backend(client& c) { return c.query("SELECT pg_backend_pid()").value<int>(); }

// The server has parsed the statement, and the client does not know that.
TEST_P(PostgresConnectionState, AnInterruptedPrepareSpoilsNoLaterOne) {
    rt().run([this] {
        client c = one_connection(*s);
        const int pid = backend(c);
        int interrupted = 0;
        for (int i = 0; i < 30; ++i) {
            const std::string sql = "SELECT " + std::to_string(i);
            auto asked = weft::async([&] { c.query(statement(sql).prepared()); });
            if (i % 2 == 0) weft::yield();
            asked.cancel();
            try {
                asked.get();
            } catch (const weft::cancelled&) {
                ++interrupted;
            }
            EXPECT_EQ(c.query(statement(sql + " + 1").prepared()).value<int>(), i + 1);
        }
        EXPECT_GT(interrupted, 0);
        EXPECT_EQ(backend(c), pid);
    });
}

TEST_P(PostgresConnectionState, StatementsArePreparedAgainAfterAllWereDiscarded) {
    rt().run([this] {
        client c = one_connection(*s);
        for (const char* discard : {"DISCARD ALL", "DEALLOCATE ALL", "deallocate prepare all"}) {
            for (int i = 0; i < 3; ++i) EXPECT_EQ(c.query(statement("SELECT 1").prepared()).value<int>(), 1);
            c.query(discard);
            EXPECT_EQ(c.query(statement("SELECT 1").prepared()).value<int>(), 1) << discard;
        }
        for (const char* discard : {"DISCARD ALL", "DEALLOCATE ALL"}) {
            c.query_all({statement("SELECT 1").prepared(), statement("SELECT 2").prepared()});
            postgres::session on = c.open();
            on.query_all({statement("SELECT 2").prepared()});
            if (discard != std::string("DISCARD ALL")) on.query_all({statement(discard)});
            EXPECT_EQ(on.query(statement("SELECT 2").prepared()).value<int>(), 2) << discard;
        }
    });
}

TEST_P(PostgresConnectionState, AParameterThatCannotBeSentStopsNoPipeline) {
    rt().run([this] {
        client c = one_connection(*s);
        const int pid = backend(c);
        const statement bad("SELECT $1::text", std::string("a\0b", 3));
        const auto begin = std::chrono::steady_clock::now();
        EXPECT_THROW(c.query_all({bad}), std::invalid_argument);
        EXPECT_THROW(c.query_all({"SELECT 1", "SELECT 2", bad}), std::invalid_argument);
        EXPECT_THROW(c.query(bad), std::invalid_argument);
        EXPECT_EQ(backend(c), pid);
        EXPECT_LT(std::chrono::steady_clock::now() - begin, 4s) << "cancel_time";
    });
}

TEST_P(PostgresConnectionState, ACopyInAPipelineIsRefused) {
    rt().run([this] {
        client c = one_connection(*s);
        c.query("CREATE TABLE IF NOT EXISTS piped (n int)");
        const auto begin = std::chrono::steady_clock::now();
        for (const char* copy : {"COPY piped FROM STDIN", "COPY piped TO STDOUT"}) {
            EXPECT_ANY_THROW(c.query_all({"SELECT 1", copy, "SELECT 2"})) << copy;
            EXPECT_EQ(c.query("SELECT 7").value<int>(), 7) << copy;
            EXPECT_EQ(c.query_all({"SELECT 8", "SELECT 9"})[1].value<int>(), 9) << copy;
        }
        EXPECT_LT(std::chrono::steady_clock::now() - begin, 4s) << "cancel_time";
    });
}

TEST_P(PostgresConnectionState, SqlWithAZeroByteIsRefused) {
    rt().run([this] {
        client c = one_connection(*s);
        const int pid = backend(c);
        const std::string sql("SELECT 1\0 WHERE false", 21);
        EXPECT_THROW(c.query(statement(sql)), std::invalid_argument);
        EXPECT_THROW(c.query(statement(sql).prepared()), std::invalid_argument);
        EXPECT_THROW(c.query_all({statement(sql)}), std::invalid_argument);
        EXPECT_THROW(c.each_row(statement(sql), [](const postgres::row&) {}), std::invalid_argument);
        EXPECT_THROW(postgres::copy_out(c, statement(sql)), std::invalid_argument);
        EXPECT_EQ(backend(c), pid);
        EXPECT_EQ(code_of([&] { client({.conninfo = s->conninfo() + std::string("\0x", 2)}).query("SELECT 1"); }),
                  errc::bad_conninfo);
    });
}

TEST_P(PostgresConnectionState, TooManyParametersAreRefused) {
    rt().run([this] {
        client c = one_connection(*s);
        const int pid = backend(c);
        EXPECT_THROW(c.query(statement("SELECT 1", std::vector<postgres::parameter>(65536, 1))), std::invalid_argument);
        EXPECT_EQ(backend(c), pid);
    });
}

TEST_P(PostgresConnectionState, ASubscriptionToANameThatIsNoTextEndsWithoutTheProcess) {
    rt().run([this] {
        const client c(s->at());
        postgres::subscription wrong(c, {.channels = {"\xff\xfe"}});
        const std::optional<postgres::event> e = wrong.events().recv();
        ASSERT_TRUE(e);
        EXPECT_EQ(e->what, postgres::event::kind::lost);
        EXPECT_THROW(postgres::subscription(c, {.channels = {std::string("a\0b", 3)}}), std::invalid_argument);
    });
}

TEST_P(PostgresConnectionState, ASubscriptionOutlivesTheDeadlineAroundItsConstructor) {
    rt().run([this] {
        client c(s->at());
        auto news = weft::with_timeout(20ms, [&] {
            return std::make_unique<postgres::subscription>(c, postgres::subscription_options{.channels = {"news"}});
        });
        EXPECT_EQ(news->events().recv()->what, postgres::event::kind::listening);
        weft::sleep_for(30ms);
        c.query("NOTIFY news, 'late'");
        EXPECT_EQ(news->events().recv()->text, "late");
    });
}

TEST_P(PostgresConnectionState, SettingsOfACallerEndWithItsStatement) {
    rt().run([this] {
        client c = one_connection(*s);
        const int pid = backend(c);
        c.query("SET application_name = 'mine'");
        EXPECT_EQ(c.query("SHOW application_name").value<std::string>(), "");
        c.query("LISTEN mine");
        EXPECT_EQ(c.query("SELECT count(*) FROM pg_listening_channels()").value<int>(), 0);
        c.query_all({"SET application_name = 'mine'", "SELECT 1"});
        EXPECT_EQ(c.query("SHOW application_name").value<std::string>(), "");
        c.query("PREPARE mine AS SELECT 1");
        EXPECT_EQ(c.query("SELECT count(*) FROM pg_prepared_statements").value<int>(), 0);
        EXPECT_EQ(backend(c), pid);
    });
}

}  // namespace
}  // namespace weft::test
