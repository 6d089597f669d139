// result.h: the result of an SQL statement.
//
//     for (postgres::row r : c.query("SELECT id, name FROM users"))
//         use(r.as<int>(0), r.as<std::optional<std::string>>("name"));
//
// Conversions by as<T>(), from the text form of a value:
//
//     int, long …, double, bool   a value of such a type, numeric, oid
//     std::string                 every value, in the text form of the server
//     bytes                       bytea
//     std::optional<T>            nullopt for NULL, otherwise T
//
// A value that does not fit, NULL without an optional, and a column that does not exist throw
// std::system_error with errc::wrong_kind.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <weft/detail/require.h>
#include <weft/postgres/error.h>
#include <weft/postgres/statement.h>

struct pg_result;  // of libpq

namespace weft::postgres {

class result;

namespace detail {

template <typename T>
struct value_as;

}  // namespace detail

/// A row of a result, which must outlive it.
class row {
public:
    [[nodiscard]] std::size_t columns() const noexcept;
    [[nodiscard]] bool is_null(std::size_t column) const;

    /// The value in its text form; empty for NULL. Valid as long as the result.
    [[nodiscard]] std::string_view text(std::size_t column) const;

    [[nodiscard]] std::string_view text(std::string_view column) const { return text(index_of(column)); }

    /// Converts: see above.
    template <typename T>
    [[nodiscard]] T as(std::size_t column) const {
        return detail::value_as<T>::convert(*this, column);
    }

    template <typename T>
    [[nodiscard]] T as(std::string_view column) const {
        return as<T>(index_of(column));
    }

private:
    friend class result;

    row(const result& of, std::size_t index) noexcept : of_(&of), index_(index) {}

    [[nodiscard]] std::size_t index_of(std::string_view column) const;

    const result* of_;
    std::size_t index_;
};

/// A result. Movable; owns its rows, which are all in memory.
class result {
public:
    class iterator {
    public:
        using value_type = row;
        using difference_type = std::ptrdiff_t;

        iterator(const result* of, std::size_t index) noexcept : of_(of), index_(index) {}

        row operator*() const noexcept { return {*of_, index_}; }

        iterator& operator++() noexcept {
            ++index_;
            return *this;
        }

        iterator operator++(int) noexcept { return {of_, index_++}; }

        friend bool operator==(const iterator&, const iterator&) = default;

    private:
        const result* of_;
        std::size_t index_;
    };

    /// Takes ownership of a result of libpq.
    explicit result(pg_result* of) noexcept : of_(of) {}

    /// The number of rows, and of columns.
    [[nodiscard]] std::size_t size() const noexcept;
    [[nodiscard]] std::size_t columns() const noexcept;
    [[nodiscard]] std::string_view column_name(std::size_t column) const;

    [[nodiscard]] bool empty() const noexcept { return size() == 0; }

    [[nodiscard]] iterator begin() const noexcept { return {this, 0}; }

    [[nodiscard]] iterator end() const noexcept { return {this, size()}; }

    /// Throws errc::wrong_kind if there is no such row.
    [[nodiscard]] row operator[](std::size_t index) const;

    /// The value of a result with one row and one column. Throws errc::wrong_kind for any other.
    template <typename T>
    [[nodiscard]] T value() const {
        return only_row().template as<T>(0);
    }

    /// The number of rows that INSERT, UPDATE, DELETE, SELECT … have affected.
    [[nodiscard]] uint64_t affected() const noexcept;

    /// What was done: "SELECT 3", "CREATE TABLE".
    [[nodiscard]] std::string_view tag() const noexcept;

    [[nodiscard]] pg_result* native_handle() const noexcept { return of_.get(); }

private:
    friend class row;

    struct clear {
        void operator()(pg_result* r) const noexcept;
    };

    [[nodiscard]] row only_row() const;

    std::unique_ptr<pg_result, clear> of_;
};

namespace detail {

[[noreturn]] void throw_wrong_kind(const row& r, std::size_t column, const char* wanted);
[[nodiscard]] int64_t integer_of(const row& r, std::size_t column);
[[nodiscard]] double double_of(const row& r, std::size_t column);
[[nodiscard]] bool bool_of(const row& r, std::size_t column);
[[nodiscard]] std::string text_of(const row& r, std::size_t column);
[[nodiscard]] bytes bytes_of(const row& r, std::size_t column);

template <std::integral T>
struct value_as<T> {
    static T convert(const row& r, std::size_t column) {
        const int64_t value = integer_of(r, column);
        if (!std::in_range<T>(value)) throw_wrong_kind(r, column, "an integer of that size");
        return static_cast<T>(value);
    }
};

template <>
struct value_as<bool> {
    static bool convert(const row& r, std::size_t column) { return bool_of(r, column); }
};

template <>
struct value_as<double> {
    static double convert(const row& r, std::size_t column) { return double_of(r, column); }
};

template <>
struct value_as<std::string> {
    static std::string convert(const row& r, std::size_t column) { return text_of(r, column); }
};

template <>
struct value_as<bytes> {
    static bytes convert(const row& r, std::size_t column) { return bytes_of(r, column); }
};

template <typename T>
struct value_as<std::optional<T>> {
    static std::optional<T> convert(const row& r, std::size_t column) {
        if (r.is_null(column)) return std::nullopt;
        return r.as<T>(column);
    }
};

}  // namespace detail

}  // namespace weft::postgres
