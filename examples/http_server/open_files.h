// open_files.h: how many files the process may have open: each connection is one, and another while a file is sent.
#pragma once

#include <cstddef>

namespace http_server {

// Raises the limit as far as we may (setrlimit, to the hard limit). Returns what it is then.
[[nodiscard]] std::size_t raise_open_files_limit() noexcept;

// How many connections there may be at a time. wanted: 0 if the user has not said; where it is more than the limit allows for, says so on
// stderr, and what to do.
[[nodiscard]] std::size_t connections_within(std::size_t limit, std::size_t wanted);

}  // namespace http_server
