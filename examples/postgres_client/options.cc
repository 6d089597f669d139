#include "options.h"

#include <stdexcept>
#include <string_view>

#include "../flags.h"

namespace postgres_client {

namespace {

void parse_flag(std::string_view a, options& o) {
    using flags::take;
    if (a == "--help" || a == "-h") {
        o.help = true;
        return;
    }
    const bool taken = take(a, "--server", o.at.conninfo) || take(a, "--connect-time", o.at.connect_time) ||
                       take(a, "--cancel-time", o.at.cancel_time) || take(a, "--silence", o.at.silence) ||
                       take(a, "--call-time", o.load.call_time) || take(a, "--connections", 1, 10'000, o.connections) ||
                       take(a, "--clients", 1, 1'000'000, o.load.clients) ||
                       take(a, "--rounds", 1, 1'000'000'000, o.load.rounds) ||
                       take(a, "--accounts", 2, 1'000'000, o.load.accounts);
    if (!taken) throw std::invalid_argument("unknown flag \"" + std::string(a) + "\"");
}

void check_words(const options& o) {
    const bool wants_words = o.what == "query" || o.what == "listen";
    if (!wants_words && o.what != "batch" && o.what != "load") {
        throw std::invalid_argument("unknown command \"" + o.what + "\"; use query, batch, load or listen");
    }
    if (wants_words == o.words.empty()) {
        throw std::invalid_argument(o.what + (wants_words ? " needs an argument" : " takes no arguments"));
    }
}

}  // namespace

options parse_options(const std::vector<std::string>& arguments) {
    options chosen;
    auto at = arguments.begin();
    for (; at != arguments.end() && at->starts_with('-'); ++at) parse_flag(*at, chosen);
    if (at != arguments.end()) chosen.what = *at++;
    chosen.words.assign(at, arguments.end());
    if (!chosen.help) check_words(chosen);
    return chosen;
}

const char* usage() noexcept {
    return "usage: postgres_client [FLAG...] query SQL [PARAMETER...]  one statement, in which $1, $2 ... are the\n"
           "                                                           parameters; prints the rows as they come\n"
           "       postgres_client [FLAG...] batch                     a statement on each line of stdin, all sent\n"
           "                                                           at once, in one transaction\n"
           "       postgres_client [FLAG...] listen CHANNEL...         prints the notifications, until SIGINT\n"
           "                                                           or SIGTERM\n"
           "       postgres_client [FLAG...] load                      moves money between accounts, with many\n"
           "                                                           clients; overwrites the table bank_accounts\n"
           "  --server=CONNINFO       as for psql: \"host=db.example dbname=shop\" (PGHOST ...)\n"
           "  --connect-time=SECONDS  to connect and log in (5)\n"
           "  --call-time=SECONDS     for one statement, or all of batch; in load, for a transaction (5)\n"
           "  --cancel-time=SECONDS   to stop a statement that takes longer (5)\n"
           "  --silence=SECONDS       of a server, before listen sends it a request (15)\n"
           "  --connections=N         most connections of load (8)\n"
           "  --clients=N --rounds=N --accounts=N\n"
           "                          of load: 50 clients, 20 transfers each, among 50 accounts\n"
           "Exit status: 0; 1 if the server does not answer, or with an error; 2 if an argument is invalid.\n";
}

}  // namespace postgres_client
