// main.cc: a chat for browsers, by WebSocket: rooms, in which everybody hears what anybody says.
//
// needs: weft::asio Boost::headers
//
// What one learns: connections on which both sides speak whenever they like. Each has two green threads: one reads (Boost.Beast), the other one sends
// what is in the client's queue (visitor.cc), and the layer below keeps their frames apart (wire.h). Nobody waits for a slow reader (rooms.h); who is
// silent is asked if he is there; and at the end everybody is told goodbye (visitors.cc).
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
