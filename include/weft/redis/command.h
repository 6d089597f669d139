// command.h: a command for a Redis server: a name and arguments, any bytes.
//
//     redis::command{"SET", key, 42}
//
// It is stored in the form in which it is sent.
#pragma once

#include <concepts>
#include <cstddef>
#include <string>
#include <string_view>

#include <weft/detail/require.h>

namespace weft::redis {

/// What a command can have as an argument. Integers are written in decimal. There is no conversion
/// of floating-point numbers: write them with the digits that you want.
template <typename T>
concept argument = std::convertible_to<const T&, std::string_view> ||
                   (std::integral<T> && !std::same_as<T, bool> && !std::same_as<T, char>);

/// A command. A value: copies are independent.
class command {
public:
    template <argument... Arguments>
    command(std::string_view name, const Arguments&... arguments) {  // NOLINT(google-explicit-constructor): "PING"
        add(name);
        (add(arguments), ...);
    }

    command(const char* name) : command(std::string_view(name)) {}  // NOLINT(google-explicit-constructor): "PING"

    /// Appends an argument. O(size of the argument).
    template <argument Argument>
    command& add(const Argument& a) {
        if constexpr (std::convertible_to<const Argument&, std::string_view>) {
            append(a);
        } else {
            append(std::to_string(a));
        }
        return *this;
    }

    /// Appends each element of a range.
    template <typename Range>
    command& add_all(const Range& of) {
        for (const auto& a : of) add(a);
        return *this;
    }

    /// The name and the arguments together.
    [[nodiscard]] std::size_t size() const noexcept { return count_; }

    /// The first argument: the name, as it was written.
    [[nodiscard]] std::string_view name() const noexcept;

    /// Appends the command to out, in the form of the protocol.
    void write_to(std::string& out) const;

    /// The number of bytes that write_to() appends, about.
    [[nodiscard]] std::size_t bytes() const noexcept { return parts_.size(); }

private:
    void append(std::string_view a);

    std::string parts_;  // "$3\r\nSET\r\n$1\r\n…"
    std::size_t count_ = 0;
};

}  // namespace weft::redis
