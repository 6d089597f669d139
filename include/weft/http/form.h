// form.h: names with values, as forms and queries send them: "a=1&b=two+words".
//
//     const http::form f = r.form();
//     if (const auto name = f.get("name")) …
//
// See: docs/http_forms.md
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <weft/detail/require.h>

namespace weft::http {

class form {
public:
    using field = std::pair<std::string, std::string>;
    using const_iterator = std::vector<field>::const_iterator;

    form() = default;

    /// Parses such a text, for example request::query(). Returns nullopt if a percent sign is not
    /// followed by two hexadecimal digits, or if there are more than fields_max.
    [[nodiscard]] static std::optional<form> parse(std::string_view text, std::size_t fields_max = 1000);

    /// The first value of that name; nullopt if no field has it. O(fields). The view lives as long
    /// as the form.
    [[nodiscard]] std::optional<std::string_view> get(std::string_view name) const noexcept;

    /// All values of that name, in order.
    [[nodiscard]] std::vector<std::string_view> all(std::string_view name) const;

    [[nodiscard]] std::size_t size() const noexcept { return fields_.size(); }

    [[nodiscard]] bool empty() const noexcept { return fields_.empty(); }

    /// The fields, in the order in which they came.
    [[nodiscard]] const_iterator begin() const noexcept { return fields_.begin(); }

    [[nodiscard]] const_iterator end() const noexcept { return fields_.end(); }

private:
    std::vector<field> fields_;
};

}  // namespace weft::http
