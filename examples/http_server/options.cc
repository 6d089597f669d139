#include "options.h"

#include <cstdint>
#include <stdexcept>
#include <string_view>

#include "../flags.h"

namespace http_server {

namespace {

constexpr uint64_t most_bytes = uint64_t{1} << 30;
constexpr uint64_t most_connections = 1'000'000;

using flags::take;

void parse_flag(std::string_view a, options& o) {
    limits& l = o.allowed;
    if (a == "--help" || a == "-h") {
        o.help = true;
        return;
    }
    if (a == "--no-log") {
        o.log.clear();
        return;
    }
    const bool taken = take(a, "--listen", o.listen) || take(a, "--log", o.log) || take(a, "--cert", o.certificate) ||
                       take(a, "--key", o.key) || take(a, "--max-header", 64, most_bytes, l.header_bytes) ||
                       take(a, "--max-body", 0, most_bytes, l.body_bytes) ||
                       take(a, "--max-connections", 1, most_connections, l.connections) ||
                       take(a, "--header-time", l.header_time) || take(a, "--body-time", l.body_time) ||
                       take(a, "--idle-time", l.idle_time) || take(a, "--write-time", l.write_time) ||
                       take(a, "--grace", l.grace);
    if (!taken) throw std::invalid_argument("unknown flag \"" + std::string(a) + "\"");
}

}  // namespace

options parse_options(const std::vector<std::string>& arguments) {
    options chosen;
    bool flags_over = false;
    bool have_root = false;
    for (const std::string& argument : arguments) {
        if (!flags_over && argument == "--") {
            flags_over = true;
        } else if (!flags_over && argument.size() > 1 && argument.front() == '-') {
            parse_flag(argument, chosen);
        } else if (have_root) {
            throw std::invalid_argument("more than one directory: \"" + chosen.root + "\" and \"" + argument + "\"");
        } else {
            chosen.root = argument;
            have_root = true;
        }
    }
    if (chosen.certificate.empty() != chosen.key.empty()) {
        throw std::invalid_argument("TLS needs both: --cert=FILE and --key=FILE");
    }
    return chosen;
}

const char* usage() noexcept {
    return "usage: http_server [FLAG...] [DIRECTORY]\n"
           "Serves the files below DIRECTORY (.) by HTTP/1.1, and /api/stats and /api/echo. Prints its\n"
           "URL. On SIGINT or SIGTERM it answers the requests in flight and ends; on a second signal\n"
           "it ends at once.\n"
           "  --listen=ADDRESS:PORT  address (127.0.0.1:8080); port 0: any free port\n"
           "  --cert=FILE --key=FILE certificate (chain) and private key, in PEM: HTTPS\n"
           "  --log=FILE             append to this access log; - is stdout (-)\n"
           "  --no-log               no access log\n"
           "  --max-header=BYTES     largest header of a request (8192), else 431\n"
           "  --max-body=BYTES       largest body of a request (1048576), else 413\n"
           "  --max-connections=N    open connections (10000, or what the limit of open files allows),\n"
           "                         else 503\n"
           "  --header-time=SECONDS  to receive a header (10), else 408\n"
           "  --body-time=SECONDS    to receive a body (30), else 408\n"
           "  --idle-time=SECONDS    between two requests (60)\n"
           "  --write-time=SECONDS   to send 256 KiB of a response (30)\n"
           "  --grace=SECONDS        to answer requests in flight at the end (10)\n"
           "RUN_MAXPROCS=N in the environment sets the number of cores used.\n"
           "Exit status: 0; 1 if it cannot serve, or cut off requests at the end; 2 if an argument is\n"
           "invalid.\n";
}

}  // namespace http_server
