// options.h: the command line.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

namespace websocket_chat {

// Limits for one client.
struct limits {
    std::size_t connections = 10'000;
    std::size_t message_bytes = 4 * 1024;
    std::size_t queue = 64;  // messages that wait for a client; a full queue means that it is too slow
    std::chrono::milliseconds handshake_time{10'000};
    std::chrono::milliseconds message_time{10'000};  // from a message's first byte to its last
    std::chrono::milliseconds ping_time{20'000};     // of silence before a ping, and for its answer
    std::chrono::milliseconds write_time{10'000};    // for accepting the data of one write
    std::chrono::milliseconds close_time{2'000};     // for the other side's part of the goodbye
};

struct options {
    std::string listen = "127.0.0.1:8080";
    limits allowed;
    bool help = false;
};

// Throws std::invalid_argument, with a message for the user.
[[nodiscard]] options parse_options(const std::vector<std::string>& arguments);

// How to call the program; several lines.
[[nodiscard]] const char* usage() noexcept;

}  // namespace websocket_chat
