// text.cc: see text.h.
#include "http/text.h"

#include <algorithm>
#include <array>
#include <cstddef>

namespace weft::http::detail {

namespace {

constexpr std::array<bool, 256> make_token_table() {
    std::array<bool, 256> table{};
    for (unsigned c = '0'; c <= '9'; ++c) table[c] = true;
    for (unsigned c = 'a'; c <= 'z'; ++c) table[c] = table[c - 'a' + 'A'] = true;
    for (const char c : std::string_view("!#$%&'*+-.^_`|~")) table[static_cast<unsigned char>(c)] = true;
    return table;
}

constexpr std::array<bool, 256> token_table = make_token_table();

constexpr char lower(char c) noexcept { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

constexpr int hex_value(char c) noexcept {
    if (c >= '0' && c <= '9') return c - '0';
    if (lower(c) >= 'a' && lower(c) <= 'f') return lower(c) - 'a' + 10;
    return -1;
}

}  // namespace

bool same_text(std::string_view a, std::string_view b) noexcept {
    if (a.size() != b.size()) return false;
    for (std::size_t i = 0; i < a.size(); ++i) {
        if (lower(a[i]) != lower(b[i])) return false;
    }
    return true;
}

bool is_token(std::string_view text) noexcept {
    return !text.empty() &&
           std::all_of(text.begin(), text.end(), [](char c) { return token_table[static_cast<unsigned char>(c)]; });
}

bool is_value(std::string_view text) noexcept {
    return std::none_of(text.begin(), text.end(), [](char c) { return c == '\r' || c == '\n' || c == '\0'; });
}

bool is_printable(std::string_view text) noexcept {
    constexpr char del = 0x7f;
    return std::none_of(text.begin(), text.end(),
                        [](char c) { return (static_cast<unsigned char>(c) < ' ' && c != '\t') || c == del; });
}

bool is_host(std::string_view text) noexcept {
    constexpr std::string_view others = "-._~%!$&'()*+,;=:[]";
    return std::all_of(text.begin(), text.end(), [&](char c) {
        return hex_value(c) >= 0 || (lower(c) >= 'a' && lower(c) <= 'z') || others.find(c) != std::string_view::npos;
    });
}

bool is_of_connection(std::string_view name) noexcept {
    for (const std::string_view one :
         {"Connection", "Content-Length", "Keep-Alive", "Proxy-Connection", "Transfer-Encoding", "Upgrade"}) {
        if (same_text(name, one)) return true;
    }
    return false;
}

std::string_view trimmed(std::string_view text) noexcept {
    while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
    while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
    return text;
}

std::optional<std::string> percent_decoded(std::string_view text, bool plus_is_space) {
    std::string plain;
    plain.reserve(text.size());
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] == '+' && plus_is_space) {
            plain += ' ';
        } else if (text[i] != '%') {
            plain += text[i];
        } else {
            if (text.size() - i < 3) return std::nullopt;
            const int high = hex_value(text[i + 1]);
            const int low = hex_value(text[i + 2]);
            if (high < 0 || low < 0) return std::nullopt;
            plain += static_cast<char>(high * 16 + low);
            i += 2;
        }
    }
    return plain;
}

}  // namespace weft::http::detail
