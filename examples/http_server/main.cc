// main.cc: a web server: files of a folder and a little JSON by HTTP/1.1, plain or over TLS.
//
// needs: weft::asio Boost::headers
// uses: weft::tls
//
// What one learns: a server that could stand on the open internet, in straight-line code: each connection is a green thread, which reads a
// request, answers it, and reads the next (connection.cc); Boost.Beast does the HTTP, over sockets of weft. Nobody holds up anybody: times,
// sizes and counts of what a client may do are bounded (request_reader.h), log lines go through a channel (access_log.h), files come from the
// page cache or from io_uring (document_root.h). It ends without cutting off a request (connections.h).
#include <cstdio>
#include <exception>
#include <stdexcept>
#include <string>
#include <vector>

#include <weft/runtime.h>

#include "options.h"
#include "server.h"

namespace http_server {

enum exit_code { all_well = 0, could_not_serve = 1, wrong_call = 2 };

namespace {

exit_code serve_or_say_why(const options& how) {
    try {
        const std::size_t cut_off = serve(how);
        if (cut_off == 0) return all_well;
        std::fprintf(stderr, "http_server: %zu connections were cut off: --grace is how long they may take\n", cut_off);
    } catch (const std::exception& e) {
        std::fprintf(stderr, "http_server: %s\n", e.what());
    }
    return could_not_serve;
}

}  // namespace

int run(const std::vector<std::string>& arguments) {
    options how;
    try {
        how = parse_options(arguments);
    } catch (const std::invalid_argument& e) {
        std::fprintf(stderr, "http_server: %s\n%s", e.what(), usage());
        return wrong_call;
    }
    if (how.help) {
        std::fputs(usage(), stdout);
        return all_well;
    }
    return weft::main([&how]() -> int { return serve_or_say_why(how); });
}

}  // namespace http_server

int main(int argc, char** argv) { return http_server::run(std::vector<std::string>(argv + 1, argv + argc)); }
