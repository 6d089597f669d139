// multipart_fuzz.cc: bodies of the type multipart/form-data. The first byte determines the pieces
// in which they are read, the second one the boundary, and the third one how much is read at a
// time.
//
// The same body in one piece must give the same parts. The parts are those of a simple splitter,
// which has the whole body.
//
// needs: fuzz_http
// mutant: src/http/multipart_parser.cc | delimiter_.size() - 1);  // what | delimiter_.size() - 2);  // what
// mutant: src/http/multipart_parser.cc | if (end > left) | if (false)
#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <weft/http/error.h>

#include "fuzz/check.h"
#include "http/multipart_parser.h"
#include "http/text.h"

namespace {

constexpr std::size_t header_max = 48;

// Gives at most so many bytes at a time.
class pieces final : public weft::http::detail::multipart_source {
public:
    pieces(std::string_view text, std::size_t most) : text_(text), most_(most) {}

    std::size_t read(weft::net::mutable_buffer into) override {
        const std::size_t n = std::min({into.size(), most_, text_.size()});
        if (n != 0) std::memcpy(into.data(), text_.data(), n);
        text_.remove_prefix(n);
        return n;
    }

private:
    std::string_view text_;
    const std::size_t most_;
};

struct result {
    std::vector<std::string> parts;  // header fields, a NUL, and the content
    bool is_whole = false;

    friend bool operator==(const result&, const result&) = default;
};

result parsed(std::string_view body, std::string_view boundary, std::size_t most, std::size_t read_size) {
    result r;
    pieces from(body, most);
    weft::http::detail::multipart_parser p(from, boundary, header_max);
    std::vector<char> into(read_size);
    try {
        while (p.next()) {
            std::string part;
            for (const auto& [name, value] : p.fields()) (((part += name) += ':') += value) += '\n';
            part += '\0';
            while (const std::size_t n = p.read_some(into)) part.append(into.data(), n);
            r.parts.push_back(std::move(part));
        }
        r.is_whole = true;
    } catch (const weft::http::failure& no) {
        fuzz::check(no.status() == 400 && *no.what() != '\0', "a body is refused with 400 and a reason", body);
    }
    return r;
}

// The header of a part, as parsed() writes it. Removes it from text. nullopt: it is malformed.
std::optional<std::string> split_header(std::string_view& text, std::string_view delimiter) {
    std::string all;
    for (std::size_t left = header_max;;) {
        const std::size_t end = text.find("\r\n");
        if (end == std::string_view::npos || end > left) return std::nullopt;
        const std::string_view line = text.substr(0, end);
        if (line.empty()) {
            if (text.size() < delimiter.size()) return std::nullopt;
            if (!text.starts_with(delimiter)) text.remove_prefix(2);  // else the part is empty
            return all + '\0';
        }
        text.remove_prefix(end + 2);
        left -= end;
        const std::size_t colon = line.find(':');
        if (colon == std::string_view::npos || !weft::http::detail::is_token(line.substr(0, colon)) ||
            !weft::http::detail::is_printable(line)) {
            return std::nullopt;
        }
        (((all += line.substr(0, colon)) += ':') += weft::http::detail::trimmed(line.substr(colon + 1))) += '\n';
    }
}

result split(std::string_view body, std::string_view boundary) {
    result r;
    const std::string all = "\r\n" + std::string(body);
    const std::string delimiter = "\r\n--" + std::string(boundary);
    std::size_t at = all.find(delimiter);
    while (at != std::string::npos) {
        std::string_view rest = std::string_view(all).substr(at + delimiter.size());
        if (rest.starts_with("--")) {
            r.is_whole = true;
            return r;
        }
        // At least two bytes must follow, also after a space.
        while (rest.size() >= 2 && (rest.front() == ' ' || rest.front() == '\t')) rest.remove_prefix(1);
        if (!rest.starts_with("\r\n")) return r;
        rest.remove_prefix(2);
        std::optional<std::string> part = split_header(rest, delimiter);
        if (!part) return r;
        const std::size_t end = rest.find(delimiter);
        if (end == std::string_view::npos) return r;  // it is never whole
        r.parts.push_back(*part + std::string(rest.substr(0, end)));
        at = all.size() - rest.size() + end;
    }
    return r;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
    constexpr std::array<std::string_view, 4> boundaries = {"x", "xx", "--", "boundary"};
    constexpr std::size_t choices = 3;
    if (size < choices) return 0;
    const std::string_view body = fuzz::text_of(data + choices, size - choices);
    const std::string_view boundary = boundaries[data[1] % boundaries.size()];
    const result in_pieces = parsed(body, boundary, data[0] + std::size_t{1}, data[2] + std::size_t{1});
    const result at_once = parsed(body, boundary, body.size() + 1, body.size() + 1);
    fuzz::check(in_pieces == at_once, "the pieces of a body make no difference", body);
    fuzz::check(at_once == split(body, boundary), "the parts of a body are what is between its boundaries", body);
    return 0;
}
