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
        throw std::invalid_argument("query, batch, load or listen: \"" + o.what + "\" is none of them");
    }
    if (wants_words == o.words.empty()) {
        throw std::invalid_argument(o.what + (wants_words ? " wants more words" : " wants no more words"));
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
           "                                                           at once, done all together or not at all\n"
           "       postgres_client [FLAG...] listen CHANNEL...         prints what is notified there, until SIGINT\n"
           "                                                           or SIGTERM\n"
           "       postgres_client [FLAG...] load                      moves money between accounts, with many\n"
           "                                                           clients; overwrites the table bank_accounts\n"
           "  --server=CONNINFO       as psql takes it: \"host=db.example dbname=shop\" (what PGHOST ... say)\n"
           "  --connect-time=SECONDS  for connecting and logging in (5)\n"
           "  --call-time=SECONDS     for a statement, or all of them; of load, for a transaction (5)\n"
           "  --cancel-time=SECONDS   for stopping a statement that takes longer (5)\n"
           "  --silence=SECONDS       of a server to which we listen, until we ask if it is there (15)\n"
           "  --connections=N         at most, of load (8)\n"
           "  --clients=N --rounds=N --accounts=N\n"
           "                          of load: 50 clients, 20 transfers each, among 50 accounts\n"
           "Ends with 0; with 1 if the server does not answer, or with an error; with 2 if it was called\n"
           "wrongly.\n";
}

}  // namespace postgres_client
