// main.cc: a PostgreSQL client, built from the unmodified libpq and green threads.
//
// needs: PostgreSQL::PostgreSQL
//
// It shows how to use a client library that does not know about green threads and would block the
// OS thread: with its non-blocking functions, and weft::wait_fd between them (connecting.cc,
// connection.cc). On top of that it has what a program needs of a database: deadlines that also
// stop the statement in the server, transactions with retries (transaction.cc), a pool, NOTIFY
// (listening.cc), and reconnection after a restart of the server. Prints the rows.
#include <csignal>
#include <cstdio>
#include <exception>
#include <iostream>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include <weft/blocking.h>
#include <weft/cancel.h>
#include <weft/chan.h>
#include <weft/error.h>
#include <weft/runtime.h>
#include <weft/scope.h>
#include <weft/select.h>
#include <weft/signals.h>

#include "connection.h"
#include "listening.h"
#include "load.h"
#include "options.h"

namespace postgres_client {

namespace {

enum exit_code { all_well = 0, no_answer = 1, wrong_call = 2 };

// Prints one row per line, with tabs between the values.
void print_rows(const result& r) {
    for (int row = 0; row < r.rows(); ++row) {
        for (int column = 0; column < r.columns(); ++column) {
            const std::string_view text = r.is_null(row, column) ? "(null)" : r.text(row, column);
            std::printf("%s%.*s", column == 0 ? "" : "\t", static_cast<int>(text.size()), text.data());
        }
        std::printf("\n");
    }
}

exit_code query(const options& how) {
    const statement s{how.words.front(), {how.words.begin() + 1, how.words.end()}};
    const result end = connection(how.at).each_row(s, print_rows);
    std::printf("(%s)\n", end.tag());
    return all_well;
}

std::vector<statement> read_statements() {
    std::vector<statement> statements;
    weft::blocking([&] {
        for (std::string line; std::getline(std::cin, line);) {
            if (!line.empty()) statements.push_back({line});
        }
    });
    return statements;
}

exit_code batch(const options& how) {
    connection c(how.at);
    for (const result& r : c.query_all(read_statements())) {
        print_rows(r);
        std::printf("(%s)\n", r.tag());
    }
    return all_well;
}

exit_code load(const options& how) {
    pool servers(how.connections, [&] { return connection(how.at); });
    const load_result r = put_load_on(servers, how.load);
    std::printf("%llu transfers were done, some of them again (%llu), %llu were late, %llu failed; the sum is %s\n",
                static_cast<unsigned long long>(r.done), static_cast<unsigned long long>(r.repeated),
                static_cast<unsigned long long>(r.late), static_cast<unsigned long long>(r.failed),
                r.sum_is_right ? "right" : "wrong");
    if (!r.first_failure.empty()) std::printf("the first failure: %s\n", r.first_failure.c_str());
    return r.late + r.failed == 0 && r.sum_is_right ? all_well : no_answer;
}

void print(const event& e) {
    switch (e.what) {
        case event::kind::listening:
            std::printf("listening\n");
            break;
        case event::kind::notification:
            std::printf("%s: %s\n", e.channel.c_str(), e.text.c_str());
            break;
        case event::kind::lost:
            std::printf("not listening: %s\n", e.text.c_str());
            break;
    }
    std::fflush(stdout);
}

exit_code listen(const options& how) {
    weft::signals::subscription told_to_end = weft::signals::notify({SIGINT, SIGTERM});
    weft::scope([&](weft::task_scope& s) {
        const weft::chan<event> events(16);
        s.go([&] { postgres_client::listen(how.at, how.words, events); });
        for (bool more = true; more;) {
            weft::select(weft::on_recv(events, [](const std::optional<event>& e) { print(*e); }),
                         weft::on_recv(told_to_end.channel(), [&](std::optional<int> /*signal*/) { more = false; }));
        }
        s.cancel();
    });
    return all_well;
}

exit_code do_it(const options& how) {
    if (how.what == "load") return load(how);
    if (how.what == "listen") return listen(how);
    return weft::with_timeout(how.load.call_time, [&] { return how.what == "query" ? query(how) : batch(how); });
}

exit_code do_it_or_say_why(const options& how) {
    try {
        return do_it(how);
    } catch (const weft::timed_out&) {
        std::fputs("postgres_client: no answer in time: --call-time sets the limit\n", stderr);
    } catch (const std::exception& e) {
        std::fprintf(stderr, "postgres_client: %s\n", e.what());
    }
    return no_answer;
}

}  // namespace

int run(const std::vector<std::string>& arguments) {
    options how;
    try {
        how = parse_options(arguments);
    } catch (const std::invalid_argument& e) {
        std::fprintf(stderr, "postgres_client: %s\n%s", e.what(), usage());
        return wrong_call;
    }
    if (how.help) {
        std::fputs(usage(), stdout);
        return all_well;
    }
    return weft::main([&how]() -> int { return do_it_or_say_why(how); });
}

}  // namespace postgres_client

int main(int argc, char** argv) { return postgres_client::run(std::vector<std::string>(argv + 1, argv + argc)); }
