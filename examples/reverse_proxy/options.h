// options.h: the command line.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

namespace reverse_proxy {

// Limits for clients and back ends. Each time is for one step; stall_time is how long a transfer
// may make no progress.
struct limits {
    std::size_t header_bytes = 16 * 1024;
    std::size_t connections = 10'000;               // of clients
    std::size_t kept = 32;                          // unused connections to each back end
    std::chrono::milliseconds header_time{10'000};  // from a request's first byte to the end of its header
    std::chrono::milliseconds idle_time{60'000};    // between two requests; for a TCP connection, without any traffic
    std::chrono::milliseconds connect_time{2'000};  // for connecting to a back end
    std::chrono::milliseconds answer_time{30'000};  // from the end of a request to the header of its answer
    std::chrono::milliseconds stall_time{30'000};   // for 16 KiB of a body, either way
    std::chrono::milliseconds keep_time{20'000};    // for an unused connection to a back end
    std::chrono::milliseconds grace{10'000};        // for requests in flight, when the proxy is told to end
};

// How back ends are checked.
struct checks {
    std::string path = "/";  // requested over HTTP; empty: a successful connect is enough
    std::chrono::milliseconds every{2'000};
    std::chrono::milliseconds time{2'000};  // for an answer
    std::size_t fall = 2;                   // failures in a row after which it is down
    std::size_t rise = 2;                   // successes in a row after which it is up again
};

struct options {
    std::string listen = "127.0.0.1:8080";
    std::vector<std::string> backends;
    bool tcp = false;  // connections are forwarded unchanged
    limits allowed;
    checks health;
    bool help = false;
};

// Throws std::invalid_argument, with a message for the user.
[[nodiscard]] options parse_options(const std::vector<std::string>& arguments);

// How to call the program; several lines.
[[nodiscard]] const char* usage() noexcept;

}  // namespace reverse_proxy
