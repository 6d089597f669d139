// json.cc: see json.h.
#include "nats/json.h"

#include <array>
#include <charconv>
#include <cstddef>

namespace weft::nats::detail {

namespace {

constexpr std::string_view blanks = " \t\r\n";

// Reads a text from left to right. A malformed text makes it stop at its end.
class scanner {
public:
    explicit scanner(std::string_view text) noexcept : text_(text) {}

    void skip_blanks() noexcept {
        while (at_ < text_.size() && blanks.find(text_[at_]) != std::string_view::npos) ++at_;
    }

    [[nodiscard]] bool take(char c) noexcept {
        skip_blanks();
        if (at_ == text_.size() || text_[at_] != c) return false;
        ++at_;
        return true;
    }

    // The text of a value, or what comes up to the end of the text.
    std::string_view value() noexcept {
        skip_blanks();
        const std::size_t begin = at_;
        std::size_t depth = 0;
        for (; at_ < text_.size(); ++at_) {
            const char c = text_[at_];
            if (c == '"') {
                skip_string();
                if (depth == 0) return text_.substr(begin, ++at_ - begin);
            } else if (c == '{' || c == '[') {
                ++depth;
            } else if (c == '}' || c == ']') {
                if (depth == 0) break;
                if (--depth == 0) return text_.substr(begin, ++at_ - begin);
            } else if (c == ',' && depth == 0) {
                break;
            }
            if (c == ':' && depth == 0) break;
        }
        std::string_view found = text_.substr(begin, at_ - begin);
        while (!found.empty() && blanks.find(found.back()) != std::string_view::npos) found.remove_suffix(1);
        return found;
    }

private:
    // From the first quote to the last one.
    void skip_string() noexcept {
        for (++at_; at_ < text_.size() && text_[at_] != '"'; ++at_) {
            if (text_[at_] == '\\') ++at_;
        }
        if (at_ >= text_.size()) at_ = text_.size() - 1;
    }

    std::string_view text_;
    std::size_t at_ = 0;
};

}  // namespace

std::optional<std::string_view> json_value(std::string_view object, std::string_view key) {
    scanner s(object);
    if (!s.take('{')) return std::nullopt;
    do {
        const std::string_view name = s.value();
        if (!s.take(':')) return std::nullopt;
        const std::string_view value = s.value();
        if (name.size() == key.size() + 2 && name.substr(1, key.size()) == key) return value;
    } while (s.take(','));
    return std::nullopt;
}

int64_t json_integer(std::string_view object, std::string_view key) {
    const std::string_view text = json_value(object, key).value_or(std::string_view());
    int64_t value = 0;
    std::from_chars(text.data(), text.data() + text.size(), value);
    return value;
}

std::string json_text(std::string_view object, std::string_view key) {
    std::string_view text = json_value(object, key).value_or(std::string_view());
    if (text.size() < 2 || text.front() != '"') return {};
    text = text.substr(1, text.size() - 2);
    std::string plain;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const bool escapes = text[i] == '\\' && i + 1 < text.size() && (text[i + 1] == '"' || text[i + 1] == '\\');
        if (escapes) ++i;
        plain += text[i];
    }
    return plain;
}

std::string json_quoted(std::string_view text) {
    constexpr std::string_view digits = "0123456789abcdef";
    std::string quoted = "\"";
    for (const char c : text) {
        if (c == '"' || c == '\\') {
            quoted += '\\';
            quoted += c;
        } else if (static_cast<unsigned char>(c) < 0x20) {
            quoted += "\\u00";
            quoted += digits[static_cast<unsigned char>(c) / 16];
            quoted += digits[static_cast<unsigned char>(c) % 16];
        } else {
            quoted += c;
        }
    }
    quoted += '"';
    return quoted;
}

}  // namespace weft::nats::detail
