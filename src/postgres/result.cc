// result.cc: see weft/postgres/result.h.
#include <libpq-fe.h>

#include <charconv>
#include <limits>
#include <string>
#include <system_error>

#include <weft/postgres/result.h>

#include "base/read_number.h"

namespace weft::postgres {

namespace {

// The whole of the value must be a number.
template <typename T>
T parsed_number(const row& r, std::size_t column, const char* wanted) {
    const std::string_view text = r.text(column);
    T value{};
    if (!weft::detail::read_number(text, value)) detail::throw_wrong_kind(r, column, wanted);
    return value;
}

[[noreturn]] void throw_no_such(const std::string& what) {
    throw std::system_error(errc::wrong_kind, "weft: the PostgreSQL result has no " + what);
}

int digit_of(char c) noexcept {
    if (c >= '0' && c <= '9') return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

}  // namespace

// ---- result.

void result::clear::operator()(pg_result* r) const noexcept { PQclear(r); }

std::size_t result::size() const noexcept { return static_cast<std::size_t>(PQntuples(of_.get())); }

std::size_t result::columns() const noexcept { return static_cast<std::size_t>(PQnfields(of_.get())); }

std::string_view result::column_name(std::size_t column) const {
    const char* const name = column < columns() ? PQfname(of_.get(), static_cast<int>(column)) : nullptr;
    if (name == nullptr) throw_no_such("column " + std::to_string(column));
    return name;
}

row result::operator[](std::size_t index) const {
    if (index >= size()) throw_no_such("row " + std::to_string(index));
    return {*this, index};
}

row result::only_row() const {
    if (size() != 1 || columns() != 1) {
        throw std::system_error(errc::wrong_kind, "weft: one value was wanted, and the PostgreSQL result has " +
                                                      std::to_string(size()) + " rows and " +
                                                      std::to_string(columns()) + " columns");
    }
    return {*this, 0};
}

uint64_t result::affected() const noexcept {
    const std::string_view text = PQcmdTuples(of_.get());
    uint64_t count = 0;
    std::from_chars(text.data(), text.data() + text.size(), count);
    return count;
}

std::string_view result::tag() const noexcept {
    const char* const tag = PQcmdStatus(of_.get());
    return tag == nullptr ? std::string_view() : std::string_view(tag);
}

// ---- row.

std::size_t row::columns() const noexcept { return of_->columns(); }

bool row::is_null(std::size_t column) const {
    if (column >= columns()) throw_no_such("column " + std::to_string(column));
    return PQgetisnull(of_->native_handle(), static_cast<int>(index_), static_cast<int>(column)) != 0;
}

std::string_view row::text(std::size_t column) const {
    if (column >= columns()) throw_no_such("column " + std::to_string(column));
    const int at = static_cast<int>(column);
    const int index = static_cast<int>(index_);
    pg_result* const of = of_->native_handle();
    return {PQgetvalue(of, index, at), static_cast<std::size_t>(PQgetlength(of, index, at))};
}

std::size_t row::index_of(std::string_view column) const {
    for (std::size_t i = 0; i < columns(); ++i) {
        if (of_->column_name(i) == column) return i;
    }
    throw_no_such("column \"" + std::string(column) + "\"");
}

namespace detail {

void throw_wrong_kind(const row& r, std::size_t column, const char* wanted) {
    constexpr std::size_t shown = 60;
    const std::string is = r.is_null(column) ? "NULL" : "\"" + std::string(r.text(column).substr(0, shown)) + "\"";
    throw std::system_error(errc::wrong_kind, "weft: column " + std::to_string(column) +
                                                  " of a PostgreSQL result was read as " + wanted + ", but is " + is);
}

int64_t integer_of(const row& r, std::size_t column) { return parsed_number<int64_t>(r, column, "an integer"); }

double double_of(const row& r, std::size_t column) {
    const std::string_view text = r.text(column);
    if (text == "Infinity") return std::numeric_limits<double>::infinity();
    if (text == "-Infinity") return -std::numeric_limits<double>::infinity();
    if (text == "NaN") return std::numeric_limits<double>::quiet_NaN();
    return parsed_number<double>(r, column, "a number");
}

bool bool_of(const row& r, std::size_t column) {
    const std::string_view text = r.text(column);
    if (text != "t" && text != "f") throw_wrong_kind(r, column, "a boolean");
    return text == "t";
}

std::string text_of(const row& r, std::size_t column) {
    if (r.is_null(column)) throw_wrong_kind(r, column, "text");
    return std::string(r.text(column));
}

bytes bytes_of(const row& r, std::size_t column) {
    const std::string_view text = r.text(column);
    if (!text.starts_with("\\x") || text.size() % 2 != 0) throw_wrong_kind(r, column, "bytes");
    bytes b;
    b.data.reserve(text.size() / 2 - 1);
    for (std::size_t i = 2; i < text.size(); i += 2) {
        const int high = digit_of(text[i]);
        const int low = digit_of(text[i + 1]);
        if (high < 0 || low < 0) throw_wrong_kind(r, column, "bytes");
        b.data += static_cast<char>(high * 16 + low);
    }
    return b;
}

}  // namespace detail

}  // namespace weft::postgres
