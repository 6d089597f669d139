// reply.h: the reply of a Redis server.
//
//     reply r = c.call({"LRANGE", "list", 0, -1});
//     for (const reply& element : r) use(element.text());
//     auto all = r.as<std::vector<std::string>>();          // the same, converted
//
// Conversions by as<T>():
//
//     long long, int …            an integer, or text that is one
//     double                      text that is a number
//     bool                        an integer other than 0, or the status OK
//     std::string                 text, or a status
//     std::optional<T>            nullopt for nil, otherwise T
//     std::vector<T>              an array
//     std::pair<A, B>             an array of two
//     std::vector<std::pair<A, B>>  an array of names and values in turn, as HGETALL has it
//
// A reply that does not fit throws std::system_error with errc::wrong_kind. A reply that is an
// error throws server_error.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <weft/detail/require.h>
#include <weft/redis/error.h>

namespace weft::redis {

class reply;

namespace detail {

class reply_parser;

template <typename T>
struct reply_as;

[[noreturn]] void throw_wrong_kind(const reply& got, const char* wanted);

}  // namespace detail

/// A reply: a value. Owns all of its elements.
class reply {
public:
    enum class kind : uint8_t { nil, integer, text, status, error, array };

    /// Nil.
    reply() noexcept = default;

    [[nodiscard]] static reply of_integer(int64_t value);
    [[nodiscard]] static reply of_text(kind k, std::string text);
    [[nodiscard]] static reply of_array(std::vector<reply> elements);

    [[nodiscard]] kind what() const noexcept { return kind_; }

    [[nodiscard]] bool is_nil() const noexcept { return kind_ == kind::nil; }

    [[nodiscard]] bool is_error() const noexcept { return kind_ == kind::error; }

    [[nodiscard]] bool is_array() const noexcept { return kind_ == kind::array; }

    /// The value of an integer. Throws errc::wrong_kind.
    [[nodiscard]] int64_t integer() const;

    /// Text, a status ("OK") or an error. Throws errc::wrong_kind.
    [[nodiscard]] const std::string& text() const;

    /// The elements of an array; none for everything else.
    [[nodiscard]] std::size_t size() const noexcept { return elements_.size(); }

    [[nodiscard]] auto begin() const noexcept { return elements_.begin(); }

    [[nodiscard]] auto end() const noexcept { return elements_.end(); }

    /// Throws errc::wrong_kind if there is no such element.
    [[nodiscard]] const reply& operator[](std::size_t index) const;

    /// Converts: see above.
    template <typename T>
    [[nodiscard]] T as() const {
        throw_if_error();
        return detail::reply_as<T>::convert(*this);
    }

    /// Throws server_error if the reply is an error.
    void throw_if_error() const;

    /// One value per line, like redis-cli whose output is not a terminal: "(nil)", "(error) …".
    [[nodiscard]] std::string to_string() const;

private:
    friend class detail::reply_parser;

    kind kind_ = kind::nil;
    int64_t integer_ = 0;
    std::string text_;
    std::vector<reply> elements_;
};

namespace detail {

[[nodiscard]] int64_t integer_of(const reply& r);
[[nodiscard]] double double_of(const reply& r);
[[nodiscard]] bool bool_of(const reply& r);
void check_array(const reply& r);

template <std::integral T>
struct reply_as<T> {
    static T convert(const reply& r) {
        const int64_t value = integer_of(r);
        if (!std::in_range<T>(value)) throw_wrong_kind(r, "an integer of that size");
        return static_cast<T>(value);
    }
};

template <>
struct reply_as<bool> {
    static bool convert(const reply& r) { return bool_of(r); }
};

template <>
struct reply_as<double> {
    static double convert(const reply& r) { return double_of(r); }
};

template <>
struct reply_as<std::string> {
    static std::string convert(const reply& r) { return r.text(); }
};

template <>
struct reply_as<reply> {
    static reply convert(const reply& r) { return r; }
};

template <typename T>
struct reply_as<std::optional<T>> {
    static std::optional<T> convert(const reply& r) {
        if (r.is_nil()) return std::nullopt;
        return r.as<T>();
    }
};

template <typename A, typename B>
struct reply_as<std::pair<A, B>> {
    static std::pair<A, B> convert(const reply& r) {
        if (r.size() != 2) throw_wrong_kind(r, "an array of two");
        return {r[0].as<A>(), r[1].as<B>()};
    }
};

template <typename T>
struct reply_as<std::vector<T>> {
    static std::vector<T> convert(const reply& r) {
        check_array(r);
        std::vector<T> all;
        all.reserve(r.size());
        for (const reply& element : r) all.push_back(element.as<T>());
        return all;
    }
};

template <typename A, typename B>
struct reply_as<std::vector<std::pair<A, B>>> {
    static std::vector<std::pair<A, B>> convert(const reply& r) {
        check_array(r);
        std::vector<std::pair<A, B>> all;
        if (r.size() % 2 != 0) throw_wrong_kind(r, "an array of names and values");
        for (std::size_t i = 0; i < r.size(); i += 2) all.emplace_back(r[i].as<A>(), r[i + 1].as<B>());
        return all;
    }
};

}  // namespace detail

}  // namespace weft::redis
