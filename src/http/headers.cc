// headers.cc: see weft/http/headers.h.
#include <algorithm>
#include <stdexcept>

#include <weft/http/headers.h>

#include "http/text.h"

namespace weft::http {

using detail::same_text;

namespace {

void check_field(std::string_view name, std::string_view value) {
    if (!detail::is_token(name)) {
        throw std::invalid_argument("weft: \"" + std::string(name) +
                                    "\" is no name of an HTTP field: use letters, digits and hyphens");
    }
    if (!detail::is_value(value)) {
        throw std::invalid_argument("weft: the value of the HTTP field " + std::string(name) +
                                    " contains a line break or a NUL: remove it, or encode the value");
    }
}

}  // namespace

std::string_view headers::get(std::string_view name) const noexcept {
    for (const field f : *this) {
        if (same_text(f.name, name)) return f.value;
    }
    return {};
}

std::size_t headers::count(std::string_view name) const noexcept {
    return static_cast<std::size_t>(std::count_if(places_.begin(), places_.end(), [&](const place& p) {
        return same_text(std::string_view(text_).substr(p.begin, p.name_size), name);
    }));
}

bool headers::has_token(std::string_view name, std::string_view token) const noexcept {
    for (const field f : *this) {
        if (!same_text(f.name, name)) continue;
        std::string_view rest = f.value;
        for (;;) {
            const std::size_t comma = rest.find(',');
            if (same_text(detail::trimmed(rest.substr(0, comma)), token)) return true;
            if (comma == std::string_view::npos) break;
            rest.remove_prefix(comma + 1);
        }
    }
    return false;
}

void headers::append(std::string_view name, std::string_view value) {
    places_.push_back(
        {static_cast<uint32_t>(text_.size()), static_cast<uint32_t>(name.size()), static_cast<uint32_t>(value.size())});
    text_ += name;
    text_ += value;
}

void headers::add(std::string_view name, std::string_view value) {
    check_field(name, value);
    append(name, std::string(value));  // it may lie in text_, which moves
}

void headers::set(std::string_view name, std::string_view value) {
    check_field(name, value);
    const std::string copied(value);  // it may be one of those that are removed
    erase(name);
    append(name, copied);
}

std::size_t headers::erase(std::string_view name) noexcept {
    // The text stays until clear(): fields are rarely removed.
    return std::erase_if(
        places_, [&](const place& p) { return same_text(std::string_view(text_).substr(p.begin, p.name_size), name); });
}

void headers::clear() noexcept {
    text_.clear();
    places_.clear();
}

}  // namespace weft::http
