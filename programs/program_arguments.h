// program_arguments.h: the arguments of the program weft.
#pragma once

#include <chrono>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <vector>

// What the caller can put right.
struct usage_error : std::runtime_error {
    using std::runtime_error::runtime_error;
};

// "10ms", "1.5s", "200us", "3000ns", or "2" for seconds. Throws usage_error.
[[nodiscard]] std::chrono::nanoseconds duration_of(const std::string& text);

// The value of option i, which is the next argument. Throws usage_error.
[[nodiscard]] const std::string& value_of(const std::vector<std::string>& arguments, std::size_t& i);

// Throws usage_error.
[[nodiscard]] std::size_t number_of(const std::string& option, const std::string& text);
