// main.cc: a reverse proxy: forwards HTTP/1.1 requests, or TCP connections, to one of several
// servers behind it.
//
// needs: weft::asio Boost::headers
//
// Each client is a green thread, which reads a request, chooses a back end, and forwards both
// bodies as fast as the receivers accept them (exchange.cc, relay.cc). Memory is therefore bounded,
// however slow a client or a server is. Connections to back ends are kept for later requests
// (backend.cc). One green thread per back end checks its health (health.cc). Prints its address,
// and which back ends go up or down.
#include <cstdio>
#include <exception>
#include <stdexcept>
#include <string>
#include <vector>

#include <weft/runtime.h>

#include "options.h"
#include "server.h"

namespace reverse_proxy {

namespace {

enum exit_code { all_well = 0, could_not_serve = 1, wrong_call = 2 };

exit_code serve_or_say_why(const options& how) {
    try {
        const std::size_t cut_off = serve(how);
        std::fputs("reverse_proxy: ended\n", stderr);
        if (cut_off == 0) return all_well;
        std::fprintf(stderr, "reverse_proxy: %zu connections were cut off; --grace sets how long they may take\n",
                     cut_off);
    } catch (const std::exception& e) {
        std::fprintf(stderr, "reverse_proxy: %s\n", e.what());
    }
    return could_not_serve;
}

}  // namespace

int run(const std::vector<std::string>& arguments) {
    options how;
    try {
        how = parse_options(arguments);
    } catch (const std::invalid_argument& e) {
        std::fprintf(stderr, "reverse_proxy: %s\n%s", e.what(), usage());
        return wrong_call;
    }
    if (how.help) {
        std::fputs(usage(), stdout);
        return all_well;
    }
    return weft::main([&how]() -> int { return serve_or_say_why(how); });
}

}  // namespace reverse_proxy

int main(int argc, char** argv) { return reverse_proxy::run(std::vector<std::string>(argv + 1, argv + argc)); }
