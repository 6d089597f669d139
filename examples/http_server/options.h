// options.h: the command line.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

namespace http_server {

// Limits for one client. Each time is for one step as a whole: sending single bytes does not extend
// it.
struct limits {
    std::size_t header_bytes = 8 * 1024;
    std::size_t body_bytes = 1024 * 1024;
    std::size_t connections = 0;  // 0: as many as open files allow, up to 10,000
    std::chrono::milliseconds header_time{
        10'000};  // from a request's first byte to the end of its header; also for a TLS handshake
    std::chrono::milliseconds body_time{30'000};   // from the end of the header to the end of the body
    std::chrono::milliseconds idle_time{60'000};   // between two requests
    std::chrono::milliseconds write_time{30'000};  // for each 256 KiB of an answer
    std::chrono::milliseconds grace{10'000};       // for requests in flight, when the server is told to end
};

struct options {
    std::string listen = "127.0.0.1:8080";
    std::string root = ".";
    std::string log = "-";  // "-": stdout; empty: no log
    std::string certificate;
    std::string key;
    limits allowed;
    bool help = false;
};

// Throws std::invalid_argument, with a message for the user.
[[nodiscard]] options parse_options(const std::vector<std::string>& arguments);

// How to call the program; several lines.
[[nodiscard]] const char* usage() noexcept;

}  // namespace http_server
