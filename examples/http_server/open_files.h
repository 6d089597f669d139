// open_files.h: the limit on open files. Each connection needs one, and another one while a file is
// sent.
#pragma once

#include <cstddef>

namespace http_server {

// Raises the soft limit to the hard limit (setrlimit). Returns the resulting limit.
[[nodiscard]] std::size_t raise_open_files_limit() noexcept;

// Returns how many connections are allowed at a time. wanted is 0 if the user gave no number. If
// wanted exceeds what the limit allows, says so on stderr, with what to do.
[[nodiscard]] std::size_t connections_within(std::size_t limit, std::size_t wanted);

}  // namespace http_server
