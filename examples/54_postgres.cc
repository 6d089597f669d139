// 54_postgres.cc: a PostgreSQL client: parameters, transactions, COPY, notifications, and what goes
// wrong.
//
// needs: weft::postgres
//
// Its argument is a connection string, as for psql. It makes the table orders, and removes it.
#include <chrono>
#include <cstdio>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include <weft/postgres/client.h>
#include <weft/postgres/copy.h>
#include <weft/postgres/subscription.h>
#include <weft/weft.h>

namespace {

using namespace std::chrono_literals;
namespace postgres = weft::postgres;

void values(postgres::client& c) {
    c.query("CREATE TABLE orders (id int PRIMARY KEY, customer text, total float8 NOT NULL)");
    c.query({"INSERT INTO orders VALUES ($1, $2, $3)", 1, "it's me", 12.5});
    c.query({"INSERT INTO orders VALUES ($1, $2, $3)", 2, nullptr, 7});
    for (const postgres::row r : c.query("SELECT * FROM orders ORDER BY id")) {
        const auto customer = r.as<std::optional<std::string>>("customer");
        std::printf("order %d, %s, %.2f\n", r.as<int>("id"), customer.value_or("no customer").c_str(),
                    r.as<double>("total"));
    }
}

// Thirty green threads pay at the same time; conflicting transactions are repeated.
void payments(postgres::client& c) {
    weft::scope([&](weft::task_scope& s) {
        for (int i = 0; i < 30; ++i) {
            s.go([&] {
                c.in_transaction(
                    postgres::isolation::serializable,
                    [](postgres::transaction& t) {
                        const auto total = t.query("SELECT total FROM orders WHERE id = 1").value<double>();
                        t.query({"UPDATE orders SET total = $1 WHERE id = 1", total + 1});
                    },
                    1'000);
            });
        }
    });
    std::printf("total: %.2f\n", c.query("SELECT total FROM orders WHERE id = 1").value<double>());

    postgres::transaction undone = c.begin();
    undone.query("DELETE FROM orders");
    undone.rollback();
}

void many_rows(postgres::client& c) {
    postgres::copy_in to(c, "COPY orders FROM STDIN");
    for (int i = 100; i < 10'100; ++i) to.write(std::to_string(i) + "\tcopied\t1\n");
    std::printf("copied %d rows\n", static_cast<int>(to.finish()));
    double sum = 0;  // the rows are never in memory together
    c.each_row("SELECT total FROM orders WHERE customer = 'copied'",
               [&](const postgres::row& r) { sum += r.as<double>(0); });
    std::printf("their sum is %.0f\n", sum);
}

void notifications(postgres::client& c) {
    const postgres::subscription orders(c, {.channels = {"orders"}});
    for (postgres::event&& e : orders.events()) {
        if (e.what == postgres::event::kind::listening) c.query("NOTIFY orders, 'a new one'");
        if (e.what == postgres::event::kind::notification) {
            std::printf("%s: %s\n", e.channel.c_str(), e.text.c_str());
            return;
        }
    }
}

void failures(postgres::client& c) {
    try {
        c.query("INSERT INTO orders VALUES (1, 'again', 0)");
    } catch (const postgres::server_error& e) {
        std::printf("%s: %s\n", e.sqlstate().c_str(), e.details().constraint.c_str());
    }
    try {
        weft::with_timeout(20ms, [&] { c.query("SELECT pg_sleep(1000)"); });
    } catch (const weft::timed_out&) {
        std::puts("the deadline has passed, and the server stops the statement");
    }
}

}  // namespace

int main(int argc, char** argv) {
    const std::string conninfo = argc > 1 ? argv[1] : "";
    return weft::main([&] {
        try {
            postgres::client c({.conninfo = conninfo});
            values(c);
            payments(c);
            many_rows(c);
            notifications(c);
            failures(c);
            c.query("DROP TABLE orders");
            return 0;
        } catch (const std::exception& e) {
            std::fprintf(stderr, "54_postgres: %s\n", e.what());
            return 1;
        }
    });
}
