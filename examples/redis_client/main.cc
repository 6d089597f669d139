// main.cc: a Redis client, built from the unmodified hiredis and green threads.
//
// needs: hiredis::hiredis
//
// It shows how to use a client library that does not know about green threads and would block the
// OS thread: with its non-blocking functions, and weft::wait_fd between them (connection.cc). On
// top of that it has what a program needs of a database: a pool (pool.h), pipelines, deadlines that
// leave nothing behind, published messages (subscription.h), and reconnection after a restart of
// the server. Prints the replies.
#include <cctype>
#include <csignal>
#include <cstdio>
#include <exception>
#include <iostream>
#include <optional>
#include <sstream>
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

#include "load.h"
#include "options.h"
#include "pool.h"
#include "subscription.h"

namespace redis_client {

namespace {

enum exit_code { all_well = 0, no_answer = 1, wrong_call = 2 };

exit_code print(const reply& r) {
    std::printf("%s\n", r.to_string().c_str());
    return r.is_error() ? no_answer : all_well;
}

exit_code call(const options& how) { return print(connection(how.at).call(how.words)); }

// Reads one command per line: words that are separated by blanks.
std::vector<command> read_commands() {
    std::vector<command> commands;
    weft::blocking([&] {
        std::string line;
        while (std::getline(std::cin, line)) {
            std::istringstream words(line);
            command c;
            for (std::string word; words >> word;) c.push_back(word);
            if (!c.empty()) commands.push_back(std::move(c));
        }
    });
    return commands;
}

exit_code pipe(const options& how) {
    exit_code ended = all_well;
    connection c(how.at);
    for (const reply& r : c.call_all(read_commands())) {
        if (print(r) != all_well) ended = no_answer;
    }
    return ended;
}

exit_code load(const options& how) {
    pool servers(how.at, how.connections);
    const load_result r = put_load_on(servers, how.load);
    std::printf("%llu rounds were answered, %llu were late, %llu failed, %llu were wrong\n",
                static_cast<unsigned long long>(r.rounds), static_cast<unsigned long long>(r.late),
                static_cast<unsigned long long>(r.failed), static_cast<unsigned long long>(r.wrong));
    if (!r.first_failure.empty()) std::printf("the first failure: %s\n", r.first_failure.c_str());
    return r.late + r.failed + r.wrong == 0 ? all_well : no_answer;
}

void print(const event& e) {
    switch (e.what) {
        case event::kind::subscribed:
            std::printf("listening\n");
            break;
        case event::kind::message:
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
        s.go([&] { subscribe(how.at, how.words, events); });
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
    return weft::with_timeout(how.load.call_time, [&] { return how.what == "call" ? call(how) : pipe(how); });
}

exit_code do_it_or_say_why(const options& how) {
    weft::signals::ignore({SIGPIPE});  // hiredis writes to a connection that the server has closed
    try {
        return do_it(how);
    } catch (const weft::timed_out&) {
        std::fputs("redis_client: no reply in time: --call-time sets the limit\n", stderr);
    } catch (const std::exception& e) {
        std::fprintf(stderr, "redis_client: %s\n", e.what());
    }
    return no_answer;
}

}  // namespace

int run(const std::vector<std::string>& arguments) {
    options how;
    try {
        how = parse_options(arguments);
    } catch (const std::invalid_argument& e) {
        std::fprintf(stderr, "redis_client: %s\n%s", e.what(), usage());
        return wrong_call;
    }
    if (how.help) {
        std::fputs(usage(), stdout);
        return all_well;
    }
    return weft::main([&how]() -> int { return do_it_or_say_why(how); });
}

}  // namespace redis_client

int main(int argc, char** argv) { return redis_client::run(std::vector<std::string>(argv + 1, argv + argc)); }
