// byte_range_fuzz.cc: the Range field, for files of any size. Input: eight bytes of size, then the
// field.
//
// mutant: src/http/byte_range.cc | std::min(*last, file_size - 1) | std::min(*last, file_size)
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

#include "fuzz/check.h"
#include "http/byte_range.h"

namespace {

using weft::http::detail::byte_range;
using kind = byte_range::kind;

// The value of a text of digits, or the maximum if it does not fit.
std::optional<uint64_t> number(std::string_view digits) {
    if (digits.empty()) return std::nullopt;
    uint64_t n = 0;
    bool is_too_large = false;
    for (const char c : digits) {
        if (c < '0' || c > '9') return std::nullopt;
        const auto digit = static_cast<uint64_t>(c - '0');
        is_too_large = is_too_large || n > (UINT64_MAX - digit) / 10;
        n = n * 10 + digit;
    }
    return is_too_large ? UINT64_MAX : n;
}

kind expected(std::string_view field, uint64_t size) {
    constexpr std::string_view unit = "bytes=";
    for (std::size_t i = 0; i < unit.size(); ++i) {
        const bool is_capital = i < field.size() && unit[i] != '=' && field[i] == unit[i] - 'a' + 'A';
        if (i >= field.size() || (field[i] != unit[i] && !is_capital)) return kind::whole;
    }
    field.remove_prefix(6);
    const std::size_t dash = field.find('-');
    if (dash == std::string_view::npos) return kind::whole;
    const auto first = number(field.substr(0, dash));
    const auto last = number(field.substr(dash + 1));
    if (size == 0) return kind::whole;
    if (dash == 0) return !last ? kind::whole : *last == 0 ? kind::unsatisfiable : kind::part;
    if (!first || (dash + 1 != field.size() && !last) || (last && *last < *first)) return kind::whole;
    return *first < size ? kind::part : kind::unsatisfiable;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
    uint64_t file_size = 0;
    if (size < sizeof(file_size)) return 0;
    std::memcpy(&file_size, data, sizeof(file_size));
    const std::string_view field = fuzz::text_of(data + sizeof(file_size), size - sizeof(file_size));

    const byte_range r = weft::http::detail::parse_range(field, file_size);
    const std::string about = std::string(field) + " of " + std::to_string(file_size);
    fuzz::check(r.what == expected(field, file_size), "it is the kind of range that it is", about);
    if (r.what != kind::part) {
        fuzz::check(r.first == 0 && r.size == 0, "what is no part has no place", about);
        return 0;
    }
    fuzz::check(r.size != 0 && r.first < file_size && r.size <= file_size - r.first, "a part is inside of its file",
                about);
    const std::string again = "bytes=" + std::to_string(r.first) + '-' + std::to_string(r.first + r.size - 1);
    const byte_range same = weft::http::detail::parse_range(again, file_size);
    fuzz::check(same.what == kind::part && same.first == r.first && same.size == r.size,
                "a part asked for by its own bounds is the same", about);
    return 0;
}
