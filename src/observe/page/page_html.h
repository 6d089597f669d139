// page_html.h: the page: page.html of this folder, which cmake/weft_observe_page.cmake compiles in.
#pragma once

#include <string>
#include <string_view>

namespace weft::observe::detail {

extern const char* const page_template;

// The page whose scripts and styles have this nonce.
[[nodiscard]] inline std::string page_html(std::string_view nonce) {
    constexpr std::string_view mark = "@NONCE@";
    std::string text = page_template;
    for (std::size_t at = text.find(mark); at != std::string::npos; at = text.find(mark, at)) {
        text.replace(at, mark.size(), nonce);
    }
    return text;
}

}  // namespace weft::observe::detail
