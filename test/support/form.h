// form.h: checks the form of a line whose details differ from run to run.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace weft::test {

// Whether all of text matches form. %d stands for decimal digits, %x for hexadecimal digits, %s for
// anything, also nothing.
[[nodiscard]] inline bool has_form(std::string_view text, std::string_view form) {
    if (form.empty()) return text.empty();
    const char kind = form.size() > 1 && form.front() == '%' ? form[1] : '\0';
    if (kind == 's') {
        for (std::size_t i = 0; i <= text.size(); ++i) {
            if (has_form(text.substr(i), form.substr(2))) return true;
        }
        return false;
    }
    if (kind == 'd' || kind == 'x') {
        std::size_t digits = text.find_first_not_of(kind == 'd' ? "0123456789" : "0123456789abcdef");
        if (digits == text.npos) digits = text.size();
        return digits != 0 && has_form(text.substr(digits), form.substr(2));
    }
    return !text.empty() && text.front() == form.front() && has_form(text.substr(1), form.substr(1));
}

}  // namespace weft::test
