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
           "URL, and ends on SIGINT or SIGTERM when the requests in flight are answered; at once on a\n"
           "second one.\n"
           "  --listen=ADDRESS:PORT  where (127.0.0.1:8080); port 0: one that is free\n"
           "  --cert=FILE --key=FILE certificate (chain) and private key, in PEM: HTTPS\n"
           "  --log=FILE             the access log, appended to; - is stdout (-)\n"
           "  --no-log               none\n"
           "  --max-header=BYTES     of a request's header (8192), else 431\n"
           "  --max-body=BYTES       of a request's body (1048576), else 413\n"
           "  --max-connections=N    at a time (10000, or as the limit of open files allows), else 503\n"
           "  --header-time=SECONDS  for sending a header (10), else 408\n"
           "  --body-time=SECONDS    for sending a body (30), else 408\n"
           "  --idle-time=SECONDS    between two requests (60)\n"
           "  --write-time=SECONDS   for taking 256 KiB of an answer (30)\n"
           "  --grace=SECONDS        for requests in flight at the end (10)\n"
           "RUN_MAXPROCS=N in the environment sets the number of cores used.\n"
           "Ends with 0; with 1 if it could not serve, or requests were cut off at the end; with 2 if it\n"
           "was called wrongly.\n";
}

}  // namespace http_server
