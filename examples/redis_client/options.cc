#include "options.h"

#include <cstdlib>
#include <stdexcept>
#include <string_view>

#include "../flags.h"

namespace redis_client {

namespace {

void parse_flag(std::string_view a, options& o) {
    using flags::take;
    if (a == "--help" || a == "-h") {
        o.help = true;
        return;
    }
    const bool taken = take(a, "--server", o.at.address) || take(a, "--connect-time", o.at.connect_time) ||
                       take(a, "--silence", o.at.silence) || take(a, "--call-time", o.load.call_time) ||
                       take(a, "--pause", o.load.pause) || take(a, "--connections", 1, 10'000, o.connections) ||
                       take(a, "--clients", 1, 1'000'000, o.load.clients) ||
                       take(a, "--rounds", 1, 1'000'000'000, o.load.rounds) ||
                       take(a, "--depth", 1, 10'000, o.load.depth);
    if (!taken) throw std::invalid_argument("unknown flag \"" + std::string(a) + "\"");
}

void check_words(const options& o) {
    const bool wants_words = o.what == "call" || o.what == "listen";
    if (!wants_words && o.what != "pipe" && o.what != "load") {
        throw std::invalid_argument("unknown command \"" + o.what + "\"; use call, pipe, load or listen");
    }
    if (wants_words == o.words.empty()) {
        throw std::invalid_argument(o.what + (wants_words ? " needs an argument" : " takes no arguments"));
    }
}

}  // namespace

options parse_options(const std::vector<std::string>& arguments) {
    options chosen;
    if (const char* password = std::getenv("REDIS_PASSWORD")) chosen.at.password = password;
    auto at = arguments.begin();
    for (; at != arguments.end() && at->starts_with('-'); ++at) parse_flag(*at, chosen);
    if (at != arguments.end()) chosen.what = *at++;
    chosen.words.assign(at, arguments.end());
    if (!chosen.help) check_words(chosen);
    return chosen;
}

const char* usage() noexcept {
    return "usage: redis_client [FLAG...] call COMMAND [ARGUMENT...]   one command; prints the reply\n"
           "       redis_client [FLAG...] pipe                         a command on each line of stdin, all\n"
           "                                                           sent at once; prints the replies\n"
           "       redis_client [FLAG...] listen CHANNEL...            prints the messages, until\n"
           "                                                           SIGINT or SIGTERM\n"
           "       redis_client [FLAG...] load                         writes and reads with many clients\n"
           "  --server=ADDRESS        HOST:PORT, or the path of a Unix socket (127.0.0.1:6379)\n"
           "  --connect-time=SECONDS  to connect (5)\n"
           "  --call-time=SECONDS     for one reply, or all of pipe (5)\n"
           "  --silence=SECONDS       of a server, before listen sends it a request (15)\n"
           "  --connections=N         most connections of load (8)\n"
           "  --clients=N --rounds=N --depth=N\n"
           "                          of load: 100 clients, 100 rounds each, in which a key is written and\n"
           "                          read 10 times by one pipeline\n"
           "  --pause=SECONDS         of load: between two rounds (0)\n"
           "REDIS_PASSWORD in the environment: the password.\n"
           "Exit status: 0; 1 if the server does not answer, or with an error; 2 if an argument is invalid.\n";
}

}  // namespace redis_client
