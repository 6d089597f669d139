// headers.h: the fields of a request's or a response's header, in order. Names ignore case.
//
//     if (r.headers().get("accept-language").starts_with("de")) …
//     for (const auto& [name, value] : r.headers()) …
//
// All texts lie in one string, so a connection reads any number of headers with two allocations.
// Views stay valid until the fields are changed.
//
// See: docs/http.md
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include <weft/detail/require.h>

namespace weft::http {

namespace detail {
class request_parser;
}  // namespace detail

class headers {
public:
    struct field {
        std::string_view name;
        std::string_view value;
    };

    class iterator {
    public:
        using value_type = field;
        using difference_type = std::ptrdiff_t;
        using reference = field;
        using pointer = void;
        using iterator_category = std::input_iterator_tag;

        iterator() noexcept = default;

        field operator*() const noexcept { return of_->at(index_); }

        iterator& operator++() noexcept {
            ++index_;
            return *this;
        }

        iterator operator++(int) noexcept { return {of_, index_++}; }

        friend bool operator==(const iterator&, const iterator&) noexcept = default;

    private:
        friend class headers;

        iterator(const headers* of, std::size_t index) noexcept : of_(of), index_(index) {}

        const headers* of_ = nullptr;
        std::size_t index_ = 0;
    };

    /// The value of the first field of that name; empty if it has no such field. O(fields).
    [[nodiscard]] std::string_view get(std::string_view name) const noexcept;

    [[nodiscard]] bool has(std::string_view name) const noexcept { return count(name) != 0; }

    /// How many fields have that name.
    [[nodiscard]] std::size_t count(std::string_view name) const noexcept;

    /// Whether one of the fields of that name, which are comma-separated lists, has that element:
    /// has_token("Connection", "close"). Ignores case.
    [[nodiscard]] bool has_token(std::string_view name, std::string_view token) const noexcept;

    /// Adds a field. Throws std::invalid_argument if the name is not a token, or the value contains
    /// a line break or a NUL, so that no value can add another field.
    void add(std::string_view name, std::string_view value);

    /// As add(), in place of all fields of that name.
    void set(std::string_view name, std::string_view value);

    /// Removes all fields of that name, and returns their number.
    std::size_t erase(std::string_view name) noexcept;

    void clear() noexcept;

    [[nodiscard]] std::size_t size() const noexcept { return places_.size(); }

    [[nodiscard]] bool empty() const noexcept { return places_.empty(); }

    [[nodiscard]] iterator begin() const noexcept { return {this, 0}; }

    [[nodiscard]] iterator end() const noexcept { return {this, places_.size()}; }

private:
    friend class detail::request_parser;

    struct place {
        uint32_t begin;
        uint32_t name_size;
        uint32_t value_size;
    };

    [[nodiscard]] field at(std::size_t index) const noexcept {
        const place& p = places_[index];
        const std::string_view all = text_;
        return {all.substr(p.begin, p.name_size), all.substr(p.begin + p.name_size, p.value_size)};
    }

    // Without checks: for what the parser has accepted.
    void append(std::string_view name, std::string_view value);

    std::string text_;
    std::vector<place> places_;
};

}  // namespace weft::http
