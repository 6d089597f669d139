// json.h: a JSON text that grows from left to right.
//
// The caller opens and closes objects and arrays in the right order; commas come by themselves.
//
// Threads: one.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace weft::observe::detail {

// text in quotes. Bytes that are no UTF-8 become U+FFFD.
[[nodiscard]] std::string quoted(std::string_view text);

class json_text {
public:
    json_text& open(char bracket) {
        separate();
        text_ += bracket;
        is_first_ = true;
        return *this;
    }

    json_text& close(char bracket) {
        text_ += bracket;
        is_first_ = false;
        return *this;
    }

    // The next value belongs to it. name: needs no escapes.
    json_text& key(std::string_view name) {
        separate();
        ((text_ += '"') += name) += "\":";
        is_first_ = true;
        return *this;
    }

    json_text& value(std::string_view text) { return put(quoted(text)); }

    json_text& value(const char* text) { return value(std::string_view(text)); }

    json_text& value(std::same_as<bool> auto yes) { return put(yes ? "true" : "false"); }

    template <std::integral N>
        requires(!std::same_as<N, bool>)
    json_text& value(N number) {
        return put(std::to_string(number));
    }

    template <typename T>
    json_text& member(std::string_view name, const T& of) {
        return key(name).value(of);
    }

    [[nodiscard]] std::string take() && { return std::move(text_); }

private:
    json_text& put(std::string_view text) {
        separate();
        text_ += text;
        return *this;
    }

    void separate() {
        if (!is_first_) text_ += ',';
        is_first_ = false;
    }

    std::string text_;
    bool is_first_ = true;
};

}  // namespace weft::observe::detail
