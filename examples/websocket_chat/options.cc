#include "options.h"

#include <stdexcept>
#include <string_view>

#include "../flags.h"

namespace websocket_chat {

namespace {

void parse_flag(std::string_view a, options& o) {
    using flags::take;
    limits& l = o.allowed;
    if (a == "--help" || a == "-h") {
        o.help = true;
        return;
    }
    const bool taken = take(a, "--listen", o.listen) || take(a, "--max-connections", 1, 1'000'000, l.connections) ||
                       take(a, "--max-message", 1, 1 << 20, l.message_bytes) ||
                       take(a, "--queue", 1, 1 << 16, l.queue) || take(a, "--handshake-time", l.handshake_time) ||
                       take(a, "--message-time", l.message_time) || take(a, "--ping-time", l.ping_time) ||
                       take(a, "--write-time", l.write_time) || take(a, "--close-time", l.close_time);
    if (!taken) throw std::invalid_argument("unknown argument \"" + std::string(a) + "\"");
}

}  // namespace

options parse_options(const std::vector<std::string>& arguments) {
    options chosen;
    for (const std::string& argument : arguments) parse_flag(argument, chosen);
    return chosen;
}

const char* usage() noexcept {
    return "usage: websocket_chat [FLAG...]\n"
           "A chat for browsers: a WebSocket at /ROOM?name=NAME receives the messages of the room. / is a\n"
           "page for browsers. On SIGINT or SIGTERM it closes every connection and ends; on a second\n"
           "signal it ends at once.\n"
           "  --listen=ADDRESS:PORT    address (127.0.0.1:8080); port 0: any free port\n"
           "  --max-connections=N      open connections (10000), else 503\n"
           "  --max-message=BYTES      largest message (4096), else the connection is closed with 1009\n"
           "  --queue=N                messages that wait for a client (64), else it is disconnected\n"
           "  --handshake-time=SECONDS for the handshake (10)\n"
           "  --message-time=SECONDS   from the first byte of a message to its last (10)\n"
           "  --ping-time=SECONDS      of silence, before a ping (20)\n"
           "  --write-time=SECONDS     to send what is queued (10)\n"
           "  --close-time=SECONDS     for the close frame of the client (2)\n"
           "RUN_MAXPROCS=N in the environment sets the number of cores used.\n"
           "Exit status: 0; 1 if it cannot serve; 2 if an argument is invalid.\n";
}

}  // namespace websocket_chat
