// main.cc: a web server: serves a folder and a little JSON over HTTP/1.1, plain or over TLS.
//
// needs: weft::http Boost::headers
// uses: weft::tls
//
// It shows a server for the open internet over weft::http, which limits clients in time, size and
// number, and ends without cutting off requests in flight. This program adds:
//
// - Files, from the page cache or from io_uring, and nothing outside of their folder
//   (document_root.h), with conditions and ranges (static_files.h).
// - A log whose lines go through a channel, so no client waits for the disk (access_log.h).
// - A little JSON (api.h), TLS and flags (options.h).
//
// Prints its address at the start, then the access log.
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
        std::fprintf(stderr, "http_server: %zu connections were cut off; --grace sets how long they may take\n",
                     cut_off);
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
