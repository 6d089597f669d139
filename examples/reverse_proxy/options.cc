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
    if (chosen.backends.empty() && !chosen.help)
        throw std::invalid_argument("no back end; name at least one HOST:PORT");
    if (chosen.tcp) chosen.health.path.clear();
    return chosen;
}

const char* usage() noexcept {
    return "usage: reverse_proxy [FLAG...] BACKEND...\n"
           "Forwards HTTP/1.1 requests to the back ends, each a HOST:PORT, and their responses to the\n"
           "clients. On SIGINT or SIGTERM it answers the requests in flight and ends; on a second signal\n"
           "it ends at once.\n"
           "  --tcp                  forward connections as bytes, of any protocol\n"
           "  --listen=ADDRESS:PORT  address (127.0.0.1:8080); port 0: any free port\n"
           "  --max-header=BYTES     largest header of a request (16384), else 431; of a response, else 502\n"
           "  --max-connections=N    open connections of clients (10000), else 503\n"
           "  --header-time=SECONDS  to receive a header (10), else 408\n"
           "  --idle-time=SECONDS    between two requests; without data, on a TCP connection (60)\n"
           "  --connect-time=SECONDS to connect to a back end (2), else another one; 504 after the last\n"
           "  --answer-time=SECONDS  until a back end begins its response (30), else 504\n"
           "  --stall-time=SECONDS   to receive or send 16 KiB of a body (30)\n"
           "  --keep=N               idle connections to keep, for each back end (32)\n"
           "  --keep-time=SECONDS    how long to keep them (20)\n"
           "  --check-path=PATH      path that the health check requests (/)\n"
           "  --check-every=SECONDS  (2)   --check-time=SECONDS  until the response (2)\n"
           "  --fall=N --rise=N      failures until it is down, successes until it is up again (2, 2)\n"
           "  --grace=SECONDS        to answer requests in flight at the end (10)\n"
           "RUN_MAXPROCS=N in the environment sets the number of cores used.\n"
           "Exit status: 0; 1 if it cannot serve, or cut off requests at the end; 2 if an argument is\n"
           "invalid.\n";
}

}  // namespace reverse_proxy
