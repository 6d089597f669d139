// statement.h: an SQL statement with its parameters.
//
//     postgres::statement{"SELECT name FROM users WHERE id = $1", 7}
//     postgres::statement{"INSERT INTO log VALUES ($1, $2)", std::optional<int>(),
//     "text"}.prepared()
//
// $1, $2 … stand for the parameters, which the server never parses as SQL.
#pragma once

#include <charconv>
#include <concepts>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <weft/detail/require.h>

namespace weft::postgres {

/// Bytes that are no text, for columns of type bytea.
struct bytes {
    std::string data = {};

    friend bool operator==(const bytes&, const bytes&) = default;
};

/// The value of a parameter. From text, numbers, bool, bytes; nullptr and an empty optional are
/// NULL. Text must not contain a zero byte: use bytes.
class parameter {
public:
    parameter(std::nullptr_t) {}  // NOLINT(google-explicit-constructor): parameters are written as plain values

    template <std::convertible_to<std::string_view> T>
    parameter(const T& text) : value_(std::string(std::string_view(text))) {}  // NOLINT(google-explicit-constructor)

    template <std::integral T>
        requires(!std::same_as<T, char>)
    parameter(T number)  // NOLINT(google-explicit-constructor)
        : value_(std::same_as<T, bool> ? std::string(number ? "t" : "f") : std::to_string(number)) {}

    parameter(double number);  // NOLINT(google-explicit-constructor)

    parameter(bytes b) : value_(std::move(b.data)), is_binary_(true) {}  // NOLINT(google-explicit-constructor)

    template <typename T>
    parameter(const std::optional<T>& o) {  // NOLINT(google-explicit-constructor)
        if (o) *this = parameter(*o);
    }

    [[nodiscard]] const std::optional<std::string>& value() const noexcept { return value_; }

    [[nodiscard]] bool is_binary() const noexcept { return is_binary_; }

private:
    std::optional<std::string> value_;
    bool is_binary_ = false;
};

/// A statement. A value.
class statement {
public:
    template <typename... Parameters>
        requires(std::convertible_to<Parameters, parameter> && ...)
    statement(std::string_view sql, const Parameters&... parameters)  // NOLINT(google-explicit-constructor): "SELECT 1"
        : sql_(sql), parameters_{parameter(parameters)...} {}

    statement(const char* sql) : sql_(sql) {}  // NOLINT(google-explicit-constructor): "SELECT 1"

    statement(std::string_view sql, std::vector<parameter> parameters)
        : sql_(sql), parameters_(std::move(parameters)) {}

    /// Lets the server parse and plan the statement once for each connection, and execute it by its
    /// name from then on. For statements that are executed often.
    [[nodiscard]] statement prepared() && {
        is_prepared_ = true;
        return std::move(*this);
    }

    [[nodiscard]] const std::string& sql() const noexcept { return sql_; }

    [[nodiscard]] const std::vector<parameter>& parameters() const noexcept { return parameters_; }

    [[nodiscard]] bool is_prepared() const noexcept { return is_prepared_; }

private:
    std::string sql_;
    std::vector<parameter> parameters_;
    bool is_prepared_ = false;
};

}  // namespace weft::postgres
