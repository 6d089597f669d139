// copy_test.cc: COPY in both directions, and its end in the middle.
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>

#include <weft/postgres/copy.h>

#include "postgres/served.h"

namespace weft::test {
namespace {

using postgres::client;
using postgres::copy_in;
using postgres::copy_out;

class PostgresCopy : public postgres_test {
protected:
    // A client, and an empty table.
    [[nodiscard]] client fresh() const {
        client c(s->at());
        c.query("DROP TABLE IF EXISTS numbers");
        c.query("CREATE TABLE numbers (n int, t text)");
        return c;
    }

    static int count(client& c) { return c.query("SELECT count(*) FROM numbers").value<int>(); }
};

WEFT_SWEEP_OVER(PostgresCopy, 1U, 4U);

TEST_P(PostgresCopy, RowsGoInAndComeOut) {
    rt().run([this] {
        client c = fresh();
        copy_in to(c, "COPY numbers FROM STDIN");
        const std::string text(100, 'x');
        for (int i = 0; i < 20'000; ++i) to.write(std::to_string(i) + "\t" + text + "\n");
        EXPECT_EQ(to.finish(), 20'000U);
        EXPECT_EQ(count(c), 20'000);
        copy_out from(c, "COPY (SELECT n FROM numbers ORDER BY n) TO STDOUT");
        int n = 0;
        while (std::optional<std::string> line = from.next()) EXPECT_EQ(*line, std::to_string(n++) + "\n");
        EXPECT_EQ(n, 20'000);
        EXPECT_EQ(from.next(), std::nullopt);
    });
}

TEST_P(PostgresCopy, OneThatIsNotFinishedStoresNothing) {
    rt().run([this] {
        client c = fresh();
        {
            copy_in to(c, "COPY numbers FROM STDIN");
            to.write("1\tone\n");
        }
        eventually([&] { return c.stats().idle == c.stats().connections; });
        EXPECT_EQ(count(c), 0);
        EXPECT_LE(c.stats().connections, 2U);
    });
}

TEST_P(PostgresCopy, ABadRowIsAnErrorOfTheServer) {
    rt().run([this] {
        client c = fresh();
        copy_in to(c, "COPY numbers FROM STDIN");
        to.write("1\tone\nno number\ttwo\n");
        EXPECT_EQ(sqlstate_of([&] { to.finish(); }), "22P02");
        EXPECT_EQ(count(c), 0);
        EXPECT_EQ(sqlstate_of([&] { copy_in(c, "COPY nowhere FROM STDIN"); }), "42P01");
    });
}

TEST_P(PostgresCopy, OtherStatementsAreRefused) {
    rt().run([this] {
        client c = fresh();
        EXPECT_THROW(copy_in(c, "SELECT 1"), std::invalid_argument);
        EXPECT_THROW(copy_in(c, "COPY numbers TO STDOUT"), std::invalid_argument);
        EXPECT_THROW(copy_out(c, "COPY numbers FROM STDIN"), std::invalid_argument);
        EXPECT_THROW(c.query("COPY numbers FROM STDIN"), std::invalid_argument);
        EXPECT_THROW(c.query("COPY numbers TO STDOUT"), std::invalid_argument);
        EXPECT_EQ(count(c), 0);
    });
}

TEST_P(PostgresCopy, IsPartOfATransaction) {
    rt().run([this] {
        client c = fresh();
        postgres::transaction t = c.begin();
        copy_in to(t.on(), "COPY numbers FROM STDIN");
        to.write("1\tone\n");
        EXPECT_EQ(to.finish(), 1U);
        EXPECT_EQ(count(c), 0);
        t.commit();
        EXPECT_EQ(count(c), 1);
    });
}

TEST_P(PostgresCopy, AReaderMayStopInTheMiddle) {
    rt().run([this] {
        client c = fresh();
        {
            copy_out from(c, "COPY (SELECT generate_series(1, 100000000)) TO STDOUT");
            EXPECT_EQ(from.next(), "1\n");
        }
        eventually([&] { return c.stats().idle == c.stats().connections; });
        EXPECT_EQ(count(c), 0);
    });
}

}  // namespace
}  // namespace weft::test
