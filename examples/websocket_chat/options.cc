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
           "A chat for browsers: who opens /ROOM?name=NAME as a WebSocket gets what the others in the room say.\n"
           "There is a page at /. Ends on SIGINT or SIGTERM, and says goodbye to everybody; at\n"
           "once on a second one.\n"
           "  --listen=ADDRESS:PORT    where (127.0.0.1:8080); port 0: one that is free\n"
           "  --max-connections=N      at a time (10000), else 503\n"
           "  --max-message=BYTES      (4096), else it is closed with 1009\n"
           "  --queue=N                messages that wait for a client (64); who is slower is cut off\n"
           "  --handshake-time=SECONDS for asking to be let in (10)\n"
           "  --message-time=SECONDS   from a message's first byte to its last (10)\n"
           "  --ping-time=SECONDS      of silence, before a client is asked if it is there (20)\n"
           "  --write-time=SECONDS     for taking what is sent at once (10)\n"
           "  --close-time=SECONDS     for the other side's part of a goodbye (2)\n"
           "RUN_MAXPROCS=N in the environment sets the number of cores used.\n"
           "Ends with 0; with 1 if it could not serve; with 2 if it was called wrongly.\n";
}

}  // namespace websocket_chat
