// accept.cc: see accept.h.
#include "http/accept.h"

#include <cstddef>
#include <optional>
#include <string>

#include "http/text.h"

namespace weft::http::detail {

namespace {

// Whether the parameters of an element give it the weight 0: ";q=0", "; q=0.000".
bool has_no_weight(std::string_view parameters) noexcept {
    const std::size_t equals = parameters.find('=');
    if (equals == std::string_view::npos || !same_text(trimmed(parameters.substr(0, equals)), "q")) return false;
    return trimmed(parameters.substr(equals + 1)).find_first_not_of("0.") == std::string_view::npos;
}

}  // namespace

bool accepts_coding(const headers& of_request, std::string_view coding) noexcept {
    std::optional<bool> named;
    std::optional<bool> any;
    for (const auto& [name, value] : of_request) {
        if (!same_text(name, "Accept-Encoding")) continue;
        std::string_view rest = value;
        while (!rest.empty()) {
            const std::size_t comma = rest.find(',');
            const std::string_view element = rest.substr(0, comma);
            rest.remove_prefix(comma == std::string_view::npos ? rest.size() : comma + 1);
            const std::size_t semicolon = element.find(';');
            const std::string_view one = trimmed(element.substr(0, semicolon));
            const bool is_accepted =
                semicolon == std::string_view::npos || !has_no_weight(element.substr(semicolon + 1));
            if (same_text(one, coding)) named = is_accepted;
            if (one == "*") any = is_accepted;
        }
    }
    return named.value_or(any.value_or(false));
}

void add_to_vary(headers& of_response, std::string_view name) {
    if (of_response.has_token("Vary", name) || of_response.has_token("Vary", "*")) return;
    of_response.add("Vary", name);
}

}  // namespace weft::http::detail
