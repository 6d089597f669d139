// flags.h: flags of a command line, --name=VALUE, for the larger examples.
//
// Each take() checks whether an argument is the flag with that name. If so, it stores the value and
// returns true. An invalid value throws std::invalid_argument, with a message for the user.
#pragma once

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>

namespace flags {

inline constexpr uint64_t most_seconds = 24 * 60 * 60;

[[noreturn]] inline void reject(std::string_view name, std::string_view wanted, std::string_view got) {
    throw std::invalid_argument(std::string(name) + " needs " + std::string(wanted) + ", not \"" + std::string(got) +
                                "\"");
}

// Returns what follows NAME= in an argument; nullopt if the argument is another flag.
[[nodiscard]] inline std::optional<std::string_view> value_of(std::string_view argument, std::string_view name) {
    if (!argument.starts_with(name)) return std::nullopt;
    const std::string_view rest = argument.substr(name.size());
    if (!rest.empty() && rest.front() != '=') return std::nullopt;
    if (rest.size() < 2) throw std::invalid_argument(std::string(name) + "=VALUE needs a value");
    return rest.substr(1);
}

inline bool take(std::string_view argument, std::string_view name, std::string& into) {
    const auto value = value_of(argument, name);
    if (value) into = *value;
    return value.has_value();
}

inline bool take(
    std::string_view argument, std::string_view name, std::size_t least, std::size_t most, std::size_t& into) {
    const auto value = value_of(argument, name);
    if (!value) return false;
    const char* const end = value->data() + value->size();
    const auto [stop, error] = std::from_chars(value->data(), end, into);
    if (error != std::errc() || stop != end || into < least || into > most) {
        reject(name, "a whole number from " + std::to_string(least) + " to " + std::to_string(most), *value);
    }
    return true;
}

// Returns the value of digits with at most one point among them; nullopt for any other text.
// std::from_chars does the same, but not for double in libc++ 19.
[[nodiscard]] inline std::optional<double> decimal(std::string_view text) {
    const bool plain = text.find_first_of("0123456789") != std::string_view::npos &&
                       text.find_first_not_of("0123456789.") == std::string_view::npos &&
                       std::count(text.begin(), text.end(), '.') <= 1;
    if (!plain) return std::nullopt;
    return std::strtod(std::string(text).c_str(), nullptr);
}

inline bool take(std::string_view argument, std::string_view name, std::chrono::milliseconds& into) {
    const auto value = value_of(argument, name);
    if (!value) return false;
    const double seconds = decimal(*value).value_or(0);
    if (seconds < 0.001 || seconds > most_seconds) {
        reject(name, "seconds, from 0.001 to " + std::to_string(most_seconds), *value);
    }
    into = std::chrono::milliseconds(static_cast<int64_t>(seconds * 1000));
    return true;
}

}  // namespace flags
