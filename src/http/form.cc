// form.cc: see weft/http/form.h.
#include <weft/http/error.h>
#include <weft/http/form.h>
#include <weft/http/request.h>
#include <weft/http/status.h>

#include "http/text.h"

namespace weft::http {

std::optional<form> form::parse(std::string_view text, std::size_t fields_max) {
    form f;
    while (!text.empty()) {
        const std::size_t end = text.find('&');
        const std::string_view pair = text.substr(0, end);
        text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
        if (pair.empty()) continue;
        if (f.fields_.size() == fields_max) return std::nullopt;
        const std::size_t equals = pair.find('=');
        std::optional<std::string> name = detail::percent_decoded(pair.substr(0, equals), true);
        std::optional<std::string> value = std::string();
        if (equals != std::string_view::npos) value = detail::percent_decoded(pair.substr(equals + 1), true);
        if (!name || !value) return std::nullopt;
        f.fields_.emplace_back(std::move(*name), std::move(*value));
    }
    return f;
}

std::optional<std::string_view> form::get(std::string_view name) const noexcept {
    for (const auto& [key, value] : fields_) {
        if (key == name) return value;
    }
    return std::nullopt;
}

std::vector<std::string_view> form::all(std::string_view name) const {
    std::vector<std::string_view> values;
    for (const auto& [key, value] : fields_) {
        if (key == name) values.push_back(value);
    }
    return values;
}

form request::form() {
    const std::string_view type = header("Content-Type");
    if (!detail::same_text(detail::trimmed(type.substr(0, type.find(';'))), "application/x-www-form-urlencoded"))
        throw failure(status::unsupported_media_type, "send a form as application/x-www-form-urlencoded");
    std::optional<http::form> parsed = http::form::parse(body());
    if (!parsed) throw failure(status::bad_request, "the form is malformed, or has too many fields");
    return std::move(*parsed);
}

}  // namespace weft::http
