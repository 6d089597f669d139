// options.h: the command line.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace wordcount {

inline constexpr unsigned most_readers = 256;  // each has one file open; the usual limit is 1024 open files

struct options {
    std::string root = "/usr/share";
    std::uint64_t million = 1'000'000;  // 0: skip that part
    std::size_t top = 10;
    unsigned readers = 0;  // 0: four per processor
    bool json = false;
    bool help = false;
};

// Throws std::invalid_argument, with a message for the user.
[[nodiscard]] options parse_options(const std::vector<std::string>& arguments);

// How to call the program; several lines.
[[nodiscard]] const char* usage() noexcept;

}  // namespace wordcount
