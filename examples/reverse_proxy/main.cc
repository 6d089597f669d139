// main.cc: a reverse proxy: passes HTTP/1.1 requests, or TCP connections, on to one of several servers behind it.
//
// needs: weft::asio Boost::headers
//
// What one learns: a program in the middle. Each client is a green thread, which reads a request, chooses a back end, and passes both bodies on as far as
// the other side takes them (exchange.cc, relay.cc): so memory is bounded however slow anybody is. Connections are kept for the next request (backend.cc);
// who looks after them is a green thread for each (health.cc).
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
        std::fprintf(stderr, "reverse_proxy: %zu connections were cut off: --grace is how long they may take\n",
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
