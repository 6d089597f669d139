// statement.cc: see weft/postgres/statement.h.
#include <array>
#include <charconv>
#include <cmath>

#include <weft/postgres/statement.h>

namespace weft::postgres {

parameter::parameter(double number) {
    if (std::isnan(number)) {
        value_ = "NaN";
    } else if (std::isinf(number)) {
        value_ = number > 0 ? "Infinity" : "-Infinity";
    } else {
        std::array<char, 32> text;
        const std::to_chars_result end = std::to_chars(text.data(), text.data() + text.size(), number);
        value_ = std::string(text.data(), end.ptr);
    }
}

}  // namespace weft::postgres
