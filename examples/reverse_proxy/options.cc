#include "options.h"

#include <stdexcept>
#include <string_view>

#include "../flags.h"

namespace reverse_proxy {

namespace {

void parse_flag(std::string_view a, options& o) {
    using flags::take;
    limits& l = o.allowed;
    if (a == "--help" || a == "-h") {
        o.help = true;
        return;
    }
    if (a == "--tcp") {
        o.tcp = true;
        return;
    }
    const bool taken = take(a, "--listen", o.listen) || take(a, "--max-header", 64, 1 << 20, l.header_bytes) ||
                       take(a, "--max-connections", 1, 1'000'000, l.connections) ||
                       take(a, "--keep", 0, 100'000, l.kept) || take(a, "--header-time", l.header_time) ||
                       take(a, "--idle-time", l.idle_time) || take(a, "--connect-time", l.connect_time) ||
                       take(a, "--answer-time", l.answer_time) || take(a, "--stall-time", l.stall_time) ||
                       take(a, "--keep-time", l.keep_time) || take(a, "--grace", l.grace) ||
                       take(a, "--check-path", o.health.path) || take(a, "--check-every", o.health.every) ||
                       take(a, "--check-time", o.health.time) || take(a, "--fall", 1, 1000, o.health.fall) ||
                       take(a, "--rise", 1, 1000, o.health.rise);
    if (!taken) throw std::invalid_argument("unknown flag \"" + std::string(a) + "\"");
}

}  // namespace

options parse_options(const std::vector<std::string>& arguments) {
    options chosen;
    for (const std::string& argument : arguments) {
        if (argument.starts_with('-')) {
            parse_flag(argument, chosen);
        } else {
            chosen.backends.push_back(argument);
        }
    }
    if (chosen.backends.empty() && !chosen.help) throw std::invalid_argument("a proxy needs at least one back end");
    if (chosen.tcp) chosen.health.path.clear();
    return chosen;
}

const char* usage() noexcept {
    return "usage: reverse_proxy [FLAG...] BACKEND...\n"
           "Passes requests by HTTP/1.1 on to the back ends, each a HOST:PORT, and their answers back. Ends\n"
           "on SIGINT or SIGTERM when the requests in flight are answered; at once on a second one.\n"
           "  --tcp                  passes connections on as they are, whatever they say\n"
           "  --listen=ADDRESS:PORT  where (127.0.0.1:8080); port 0: one that is free\n"
           "  --max-header=BYTES     of a request (16384), else 431; of an answer, else 502\n"
           "  --max-connections=N    of clients, at a time (10000), else 503\n"
           "  --header-time=SECONDS  for sending a header (10), else 408\n"
           "  --idle-time=SECONDS    between two requests; of a TCP connection, when nothing moves (60)\n"
           "  --connect-time=SECONDS for connecting to a back end (2), else another one; 504 if it is the last\n"
           "  --answer-time=SECONDS  for a back end to begin its answer (30), else 504\n"
           "  --stall-time=SECONDS   for taking or sending 16 KiB of a body (30)\n"
           "  --keep=N               unused connections that are kept, to each back end (32)\n"
           "  --keep-time=SECONDS    for how long (20)\n"
           "  --check-path=PATH      what is asked for to see if a back end is well (/)\n"
           "  --check-every=SECONDS  (2)   --check-time=SECONDS  for the answer (2)\n"
           "  --fall=N --rise=N      failures until it is down, successes until it is up again (2, 2)\n"
           "  --grace=SECONDS        for requests in flight at the end (10)\n"
           "RUN_MAXPROCS=N in the environment sets the number of cores used.\n"
           "Ends with 0; with 1 if it could not serve, or requests were cut off at the end; with 2 if it\n"
           "was called wrongly.\n";
}

}  // namespace reverse_proxy
