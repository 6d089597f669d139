// json_value.cc: see json_value.h.
#include "json_value.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <stdexcept>

class json_parser {
public:
    explicit json_parser(std::string_view text) : text_(text) {}

    json_value whole() {
        json_value v = value(0);
        skip_space();
        if (at_ != text_.size()) fail();
        return v;
    }

private:
    static constexpr int deepest = 64;

    [[noreturn]] void fail() const {
        throw std::runtime_error("weft: the answer is not JSON (byte " + std::to_string(at_) + ")");
    }

    void skip_space() noexcept {
        while (at_ < text_.size() &&
               (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t' || text_[at_] == '\r'))
            ++at_;
    }

    [[nodiscard]] char next() {
        skip_space();
        if (at_ == text_.size()) fail();
        return text_[at_];
    }

    bool take(char wanted) {
        if (next() != wanted) return false;
        ++at_;
        return true;
    }

    void expect(std::string_view word) {
        if (text_.substr(at_, word.size()) != word) fail();
        at_ += word.size();
    }

    json_value value(int depth) {
        if (depth == deepest) fail();
        json_value v;
        switch (next()) {
            case '{':
                object(v, depth);
                break;
            case '[':
                array(v, depth);
                break;
            case '"':
                v.kind_ = json_value::kind::text;
                v.text_ = string();
                break;
            case 't':
                expect("true");
                v.kind_ = json_value::kind::boolean;
                v.number_ = 1;
                break;
            case 'f':
                expect("false");
                v.kind_ = json_value::kind::boolean;
                break;
            case 'n':
                expect("null");
                break;
            default:
                number(v);
        }
        return v;
    }

    void object(json_value& v, int depth) {
        v.kind_ = json_value::kind::object;
        ++at_;
        if (take('}')) return;
        do {
            if (next() != '"') fail();
            std::string name = string();
            if (!take(':')) fail();
            v.members_.emplace_back(std::move(name), value(depth + 1));
        } while (take(','));
        if (!take('}')) fail();
    }

    void array(json_value& v, int depth) {
        v.kind_ = json_value::kind::array;
        ++at_;
        if (take(']')) return;
        do {
            v.items_.push_back(value(depth + 1));
        } while (take(','));
        if (!take(']')) fail();
    }

    void number(json_value& v) {
        v.kind_ = json_value::kind::number;
        // Not std::from_chars, which libc++ has only for whole numbers.
        constexpr std::string_view digits = "+-.0123456789eE";
        const std::size_t end = std::min(text_.find_first_not_of(digits, at_), text_.size());
        const std::string part(text_.substr(at_, end - at_));
        char* rest = nullptr;
        v.number_ = std::strtod(part.c_str(), &rest);
        if (part.empty() || *rest != '\0') fail();
        at_ = end;
    }

    std::string string() {
        std::string s;
        for (++at_;; ++at_) {
            if (at_ >= text_.size()) fail();
            const char c = text_[at_];
            if (c == '"') break;
            if (c != '\\') {
                s += c;
                continue;
            }
            if (++at_ >= text_.size()) fail();
            escape(s);
        }
        ++at_;
        return s;
    }

    void escape(std::string& into) {
        constexpr std::string_view names = "\"\\/bfnrt";
        constexpr std::string_view values = "\"\\/\b\f\n\r\t";
        const std::size_t i = names.find(text_[at_]);
        if (i != std::string_view::npos) {
            into += values[i];
            return;
        }
        unsigned code = 0;
        const char* begin = text_.data() + at_ + 1;
        if (text_[at_] != 'u' || text_.size() - at_ < 5) fail();
        const auto [end, error] = std::from_chars(begin, begin + 4, code, 16);
        if (error != std::errc() || end != begin + 4) fail();
        at_ += 4;
        add_utf8(code, into);
    }

    // Half of a pair becomes a character of its own, which is no UTF-8; the texts here have none.
    static void add_utf8(unsigned code, std::string& into) {
        if (code < 0x80) {
            into += static_cast<char>(code);
        } else if (code < 0x800) {
            into += static_cast<char>(0xc0 | code >> 6);
            into += static_cast<char>(0x80 | (code & 0x3f));
        } else {
            into += static_cast<char>(0xe0 | code >> 12);
            into += static_cast<char>(0x80 | (code >> 6 & 0x3f));
            into += static_cast<char>(0x80 | (code & 0x3f));
        }
    }

    std::string_view text_;
    std::size_t at_ = 0;
};

namespace {

const json_value none;

}  // namespace

json_value json_value::parse(std::string_view text) { return json_parser(text).whole(); }

const json_value& json_value::operator[](std::string_view name) const noexcept {
    for (const auto& [key, value] : members_) {
        if (key == name) return value;
    }
    return none;
}

const json_value& json_value::operator[](std::size_t index) const noexcept {
    return index < items_.size() ? items_[index] : none;
}
