// json_value.h: a JSON text as values in memory.
//
// Threads: any; a value that nothing changes may be read by several.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

class json_value {
public:
    // Throws std::runtime_error if it is not JSON, or nested more than 64 deep.
    [[nodiscard]] static json_value parse(std::string_view text);

    // A member of an object; a null value if there is none.
    [[nodiscard]] const json_value& operator[](std::string_view name) const noexcept;

    // An element of an array; a null value if there is none.
    [[nodiscard]] const json_value& operator[](std::size_t index) const noexcept;

    // Those of an array; none of others.
    [[nodiscard]] const std::vector<json_value>& items() const noexcept { return items_; }

    [[nodiscard]] bool is_null() const noexcept { return kind_ == kind::null; }

    // 0 and an empty text for values of another kind.
    [[nodiscard]] double number() const noexcept { return number_; }

    [[nodiscard]] std::uint64_t count() const noexcept {
        return number_ <= 0 ? 0 : static_cast<std::uint64_t>(number_);
    }

    [[nodiscard]] bool is_true() const noexcept { return kind_ == kind::boolean && number_ != 0; }

    [[nodiscard]] const std::string& text() const noexcept { return text_; }

private:
    friend class json_parser;

    enum class kind : std::uint8_t { null, boolean, number, text, array, object };

    kind kind_ = kind::null;
    double number_ = 0;
    std::string text_;
    std::vector<json_value> items_;
    std::vector<std::pair<std::string, json_value>> members_;
};
