// read_number.h: numbers as texts of other programs have them, whatever the locale.
//
// Threads: any thread.
#pragma once

#include <charconv>
#include <concepts>
#include <limits>
#include <locale>
#include <sstream>
#include <string>
#include <string_view>
#include <system_error>

namespace weft::detail {

// Returns whether the whole text is a number that fits.
template <typename T>
[[nodiscard]] bool read_number(std::string_view text, T& value) {
#if !defined(__cpp_lib_to_chars)
    // libc++ 19 has std::from_chars for integers only.
    if constexpr (std::floating_point<T>) {
        const bool is_negative = text.starts_with('-');
        const std::string_view rest = text.substr(is_negative ? 1 : 0);
        const T sign = is_negative ? T{-1} : T{1};
        if (rest == "inf" || rest == "Infinity") {
            value = sign * std::numeric_limits<T>::infinity();
            return true;
        }
        if (rest == "nan" || rest == "NaN") {
            value = std::numeric_limits<T>::quiet_NaN();
            return true;
        }
        if (rest.empty() || rest.find_first_not_of("0123456789.eE+-") != std::string_view::npos) return false;
        std::istringstream in{std::string(text)};
        in.imbue(std::locale::classic());
        return static_cast<bool>(in >> value) && in.peek() == std::istringstream::traits_type::eof();
    } else
#endif
    {
        const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), value);
        return ec == std::errc() && end == text.data() + text.size();
    }
}

}  // namespace weft::detail
