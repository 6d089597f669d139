// byte_range.cc: see byte_range.h.
#include "http/byte_range.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>
#include <system_error>

#include "http/text.h"

namespace weft::http::detail {

namespace {

// If the digits do not fit, the number is larger than any file.
std::optional<uint64_t> range_number(std::string_view digits) {
    if (digits.empty() || digits.find_first_not_of("0123456789") != std::string_view::npos) return std::nullopt;
    uint64_t n = 0;
    const auto [stop, error] = std::from_chars(digits.data(), digits.data() + digits.size(), n);
    return error == std::errc() ? n : std::numeric_limits<uint64_t>::max();
}

byte_range last_bytes(uint64_t count, uint64_t file_size) {
    const uint64_t size = std::min(count, file_size);
    if (size == 0) return {byte_range::kind::unsatisfiable};
    return {byte_range::kind::part, file_size - size, size};
}

}  // namespace

byte_range parse_range(std::string_view field, uint64_t file_size) {
    constexpr std::string_view unit = "bytes=";
    if (!same_text(field.substr(0, unit.size()), unit)) return {};
    if (file_size == 0) return {};  // no range fits, and some clients ask all files for one
    field.remove_prefix(unit.size());
    const std::size_t dash = field.find('-');
    if (dash == std::string_view::npos) return {};
    const std::string_view from = field.substr(0, dash);
    const std::string_view to = field.substr(dash + 1);

    const auto first = range_number(from);
    const auto last = range_number(to);
    if (from.empty()) return last ? last_bytes(*last, file_size) : byte_range{};
    if (!first || (!to.empty() && (!last || *last < *first))) return {};
    if (*first >= file_size) return {byte_range::kind::unsatisfiable};
    const uint64_t end = last ? std::min(*last, file_size - 1) : file_size - 1;
    return {byte_range::kind::part, *first, end - *first + 1};
}

}  // namespace weft::http::detail
