// main.cc: a chat for browsers, over WebSocket. Every member of a room sees all messages to it.
//
// needs: weft::asio Boost::headers
//
// It shows connections on which both sides send at any time. Each has two green threads: one reads
// (Boost.Beast), the other sends the messages of the client's queue (visitor.cc). The layer below
// keeps their frames apart (wire.h). A slow reader delays no other client (rooms.h). A ping checks
// silent clients. At the end every client gets a close frame (visitors.cc). Prints the address of
// the page.
#include <cstdio>
#include <exception>
#include <stdexcept>
#include <string>
#include <vector>

#include <weft/runtime.h>

#include "options.h"
#include "server.h"

namespace websocket_chat {

namespace {

enum exit_code { all_well = 0, could_not_serve = 1, wrong_call = 2 };

exit_code serve_or_say_why(const options& how) {
    try {
        serve(how);
        std::fputs("websocket_chat: ended\n", stderr);
        return all_well;
    } catch (const std::exception& e) {
        std::fprintf(stderr, "websocket_chat: %s\n", e.what());
    }
    return could_not_serve;
}

}  // namespace

int run(const std::vector<std::string>& arguments) {
    options how;
    try {
        how = parse_options(arguments);
    } catch (const std::invalid_argument& e) {
        std::fprintf(stderr, "websocket_chat: %s\n%s", e.what(), usage());
        return wrong_call;
    }
    if (how.help) {
        std::fputs(usage(), stdout);
        return all_well;
    }
    return weft::main([&how]() -> int { return serve_or_say_why(how); });
}

}  // namespace websocket_chat

int main(int argc, char** argv) { return websocket_chat::run(std::vector<std::string>(argv + 1, argv + argc)); }
