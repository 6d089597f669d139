// multipart_parser.cc: see multipart_parser.h.
#include "http/multipart_parser.h"

#include <algorithm>
#include <cstring>

#include <weft/http/error.h>
#include <weft/http/status.h>

#include "http/text.h"

namespace weft::http::detail {

namespace {

constexpr std::size_t multipart_piece = std::size_t{8} * 1024;

[[noreturn]] void refuse_multipart(const char* why) { throw failure(status::bad_request, why); }

}  // namespace

bool is_boundary(std::string_view text) noexcept {
    constexpr std::size_t longest = 70;
    constexpr std::string_view others = "'()+_,-./:=? ";
    return !text.empty() && text.size() <= longest && !text.ends_with(' ') &&
           std::all_of(text.begin(), text.end(), [&](char c) {
               return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                      others.find(c) != std::string_view::npos;
           });
}

multipart_parser::multipart_parser(multipart_source& from, std::string_view boundary, std::size_t header_max)
    : from_(from), delimiter_("\r\n--" + std::string(boundary)), header_max_(header_max) {}

void multipart_parser::fill() {
    buffer_.erase(0, begin_);
    begin_ = 0;
    const std::size_t used = buffer_.size();
    buffer_.resize(used + multipart_piece);
    const std::size_t n = from_.read({buffer_.data() + used, multipart_piece});
    buffer_.resize(used + n);
    if (n == 0) refuse_multipart("the form ends before its last boundary");
}

void multipart_parser::need(std::size_t bytes) {
    while (text().size() < bytes) fill();
}

// Makes known_ more than 0, or is_at_delimiter_ true.
void multipart_parser::find_content() {
    while (known_ == 0 && !is_at_delimiter_) {
        const std::size_t at = text().find(delimiter_);
        if (at != std::string_view::npos) {
            known_ = at;
            is_at_delimiter_ = true;
        } else if (text().size() >= delimiter_.size()) {
            known_ = text().size() - (delimiter_.size() - 1);  // what follows may begin a delimiter
        } else {
            fill();
        }
    }
}

std::size_t multipart_parser::read_some(net::mutable_buffer into) {
    if (has_ended_ || into.size() == 0) return 0;
    find_content();
    const std::size_t n = std::min(known_, into.size());
    if (n != 0) std::memcpy(into.data(), text().data(), n);
    consume(n);
    known_ -= n;
    return n;
}

bool multipart_parser::next() {
    while (!has_ended_) {
        find_content();
        consume(known_);
        known_ = 0;
        if (is_at_delimiter_) break;
    }
    if (has_ended_) return false;
    consume(delimiter_.size());
    is_at_delimiter_ = false;
    need(2);
    if (text().starts_with("--")) {
        has_ended_ = true;
        return false;
    }
    for (;;) {  // RFC 2046: spaces may follow the boundary
        need(2);
        if (text().front() != ' ' && text().front() != '\t') break;
        consume(1);
    }
    if (!text().starts_with("\r\n")) refuse_multipart("a boundary of the form is not at the end of its line");
    read_header();
    return true;
}

void multipart_parser::read_header() {
    fields_.clear();
    consume(2);
    for (std::size_t left = header_max_;;) {
        std::size_t end = text().find("\r\n");
        while (end == std::string_view::npos) {
            if (text().size() > left) refuse_multipart("the header of a part of the form is too large");
            fill();
            end = text().find("\r\n");
        }
        if (end > left) refuse_multipart("the header of a part of the form is too large");
        if (end == 0) break;
        add_field(text().substr(0, end));
        left -= end;
        consume(end + 2);
    }
    // Of an empty part, the line break that ends the header may be that of the delimiter.
    need(delimiter_.size());
    if (!text().starts_with(delimiter_)) consume(2);
}

void multipart_parser::add_field(std::string_view line) {
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos || !is_token(line.substr(0, colon)) || !is_printable(line))
        refuse_multipart("the header of a part of the form is malformed");
    fields_.add(line.substr(0, colon), trimmed(line.substr(colon + 1)));
}

}  // namespace weft::http::detail
