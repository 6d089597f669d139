// parameters.cc: see parameters.h.
#include "http/parameters.h"

#include <algorithm>
#include <cstddef>

#include "http/text.h"

namespace weft::http::detail {

namespace {

// Takes a value in quotes, of which the first is gone. nullopt: there is no closing quote.
std::optional<std::string> take_quoted(std::string_view& rest) {
    std::string value;
    for (std::size_t i = 0; i < rest.size(); ++i) {
        if (rest[i] == '"') {
            rest.remove_prefix(i + 1);
            return value;
        }
        if (rest[i] == '\\' && i + 1 < rest.size() && (rest[i + 1] == '"' || rest[i + 1] == '\\')) ++i;
        value += rest[i];
    }
    return std::nullopt;
}

}  // namespace

std::string_view main_value(std::string_view field) noexcept { return trimmed(field.substr(0, field.find(';'))); }

std::optional<std::string> parameter_of(std::string_view field, std::string_view name) {
    std::string_view rest = field;
    for (;;) {
        const std::size_t semicolon = rest.find(';');
        if (semicolon == std::string_view::npos) return std::nullopt;
        rest = trimmed(rest.substr(semicolon + 1));
        const std::size_t equals = rest.find_first_of("=;");
        if (equals == std::string_view::npos) return std::nullopt;
        if (rest[equals] == ';') continue;
        const std::string_view key = trimmed(rest.substr(0, equals));
        rest = trimmed(rest.substr(equals + 1));
        std::optional<std::string> value;
        if (rest.starts_with('"')) {
            rest.remove_prefix(1);
            value = take_quoted(rest);
            if (!value) return std::nullopt;
        } else {
            const std::size_t end = std::min(rest.find(';'), rest.size());
            value = trimmed(rest.substr(0, end));
            rest.remove_prefix(end);
        }
        if (same_text(key, name)) return value;
    }
}

}  // namespace weft::http::detail
