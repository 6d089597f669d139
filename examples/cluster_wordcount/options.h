// options.h: the command line.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "broker.h"
#include "coordinator.h"
#include "worker.h"

namespace cluster_wordcount {

struct options {
    std::string what;  // coordinator, worker, remove or demo
    broker_options at;
    count_options count;  // its root is the argument
    worker_options worker;
    std::size_t top = 10;
    bool check = false;
    bool help = false;
};

// Throws std::invalid_argument, with a message for the user.
[[nodiscard]] options parse_options(const std::vector<std::string>& arguments);

// How to call the program; several lines.
[[nodiscard]] const char* usage() noexcept;

}  // namespace cluster_wordcount
