// parameters.cc: see parameters.h.
#include "http/parameters.h"

#include <algorithm>
#include <cstddef>
#include <utility>

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

enum class taken { none, one, malformed };

// Takes the next parameter that has a value.
taken take_parameter(std::string_view& rest, std::string_view& key, std::string& value) {
    for (;;) {
        const std::size_t semicolon = rest.find(';');
        if (semicolon == std::string_view::npos) return taken::none;
        rest = trimmed(rest.substr(semicolon + 1));
        const std::size_t equals = rest.find_first_of("=;");
        if (equals == std::string_view::npos) return taken::none;
        if (rest[equals] == ';') continue;
        key = trimmed(rest.substr(0, equals));
        rest = trimmed(rest.substr(equals + 1));
        if (rest.starts_with('"')) {
            rest.remove_prefix(1);
            std::optional<std::string> quoted = take_quoted(rest);
            if (!quoted) return taken::malformed;
            value = std::move(*quoted);
        } else {
            const std::size_t end = std::min(rest.find(';'), rest.size());
            value = trimmed(rest.substr(0, end));
            rest.remove_prefix(end);
        }
        return taken::one;
    }
}

}  // namespace

std::string_view main_value(std::string_view field) noexcept { return trimmed(field.substr(0, field.find(';'))); }

std::optional<std::string> parameter_of(std::string_view field, std::string_view name) {
    std::string_view key;
    std::string value;
    while (take_parameter(field, key, value) == taken::one) {
        if (same_text(key, name)) return value;
    }
    return std::nullopt;
}

bool has_good_quotes(std::string_view field) {
    std::string_view key;
    std::string value;
    for (;;) {
        const taken what = take_parameter(field, key, value);
        if (what != taken::one) return what == taken::none;
    }
}

}  // namespace weft::http::detail
