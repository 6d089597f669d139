// buffer.h: memory to read into or write from: an address and a size in bytes, owned by the caller.
//
// Any contiguous sequence of char, unsigned char or std::byte converts implicitly: std::array,
// std::vector, std::span, std::string, arrays, and for writing std::string_view and string
// literals. The terminating 0 of a literal is left out. (A literal is an array of const char that
// ends with a 0.)
#pragma once

#include <concepts>
#include <cstddef>
#include <span>
#include <type_traits>

#include <weft/detail/require.h>

namespace weft::net {

namespace detail {

template <typename T>
inline constexpr bool is_byte =
    std::is_same_v<std::remove_cv_t<T>, char> || std::is_same_v<std::remove_cv_t<T>, unsigned char> ||
    std::is_same_v<std::remove_cv_t<T>, std::byte>;

// A contiguous sequence of writable bytes.
template <typename R>
concept writable_bytes = requires(R& r) {
    { std::data(r) };
    { std::size(r) } -> std::convertible_to<std::size_t>;
    requires is_byte<std::remove_pointer_t<decltype(std::data(r))>>;
    requires !std::is_const_v<std::remove_pointer_t<decltype(std::data(r))>>;
};

// A contiguous sequence of readable bytes.
template <typename R>
concept readable_bytes = requires(const R& r) {
    { std::data(r) };
    { std::size(r) } -> std::convertible_to<std::size_t>;
    requires is_byte<std::remove_cv_t<std::remove_pointer_t<decltype(std::data(r))>>>;
};

}  // namespace detail

class mutable_buffer {
public:
    mutable_buffer(void* data, std::size_t size) noexcept : data_(data), size_(size) {}

    template <typename R>
        requires detail::writable_bytes<R>
    mutable_buffer(R&& bytes) noexcept  // NOLINT: any such sequence is one
        : data_(std::data(bytes)), size_(std::size(bytes)) {}

    [[nodiscard]] void* data() const noexcept { return data_; }

    [[nodiscard]] std::size_t size() const noexcept { return size_; }

private:
    void* data_;
    std::size_t size_;
};

class const_buffer {
public:
    const_buffer(const void* data, std::size_t size) noexcept : data_(data), size_(size) {}

    const_buffer(mutable_buffer b) noexcept : data_(b.data()), size_(b.size()) {}  // NOLINT: as a const pointer

    template <typename R>
        requires(detail::readable_bytes<R> && !std::is_array_v<R>)
    const_buffer(const R& bytes) noexcept  // NOLINT: any such sequence is one
        : data_(std::data(bytes)), size_(std::size(bytes)) {}

    template <typename T, std::size_t N>
        requires detail::is_byte<T>
    const_buffer(T (&bytes)[N]) noexcept : data_(bytes), size_(N) {  // NOLINT: as above
        if constexpr (std::is_same_v<T, const char>) {
            if (bytes[N - 1] == '\0') --size_;
        }
    }

    [[nodiscard]] const void* data() const noexcept { return data_; }

    [[nodiscard]] std::size_t size() const noexcept { return size_; }

private:
    const void* data_;
    std::size_t size_;
};

}  // namespace weft::net
