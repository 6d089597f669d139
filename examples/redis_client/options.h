// options.h: the command line.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

#include "connection.h"
#include "load.h"

namespace redis_client {

struct options {
    server at;
    std::size_t connections = 8;
    load_options load;               // its call_time applies to all commands
    std::string what;                // call, pipe, load or listen
    std::vector<std::string> words;  // the arguments of that command
    bool help = false;
};

// Throws std::invalid_argument, with a message for the user.
[[nodiscard]] options parse_options(const std::vector<std::string>& arguments);

// How to call the program; several lines.
[[nodiscard]] const char* usage() noexcept;

}  // namespace redis_client
