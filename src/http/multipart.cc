// multipart.cc: see weft/http/multipart.h.
#include <array>
#include <optional>

#include <weft/http/error.h>
#include <weft/http/multipart.h>
#include <weft/http/status.h>

#include "http/multipart_parser.h"
#include "http/parameters.h"
#include "http/text.h"

namespace weft::http {

namespace {

// Throws failure (415) unless the request has a form with files.
std::string boundary_of(const request& r) {
    const std::string_view type = r.header("Content-Type");
    const std::optional<std::string> boundary = detail::parameter_of(type, "boundary");
    if (!detail::same_text(detail::main_value(type), "multipart/form-data") || !boundary ||
        !detail::is_boundary(*boundary)) {
        throw failure(status::unsupported_media_type, "send a form as multipart/form-data, with a boundary");
    }
    return *boundary;
}

// Browsers on Windows sent whole paths.
std::string without_directories(std::string name) {
    if (const std::size_t at = name.find_last_of("/\\"); at != std::string::npos) name.erase(0, at + 1);
    return name;
}

class body_source final : public detail::multipart_source {
public:
    explicit body_source(request& r) noexcept : request_(r) {}

    [[nodiscard]] std::size_t read(net::mutable_buffer into) override { return request_.read_some(into); }

private:
    request& request_;
};

}  // namespace

class multipart::state {
public:
    state(request& r, multipart_options options)
        : how(options), from(r), parser(from, boundary_of(r), options.header_max) {}

    const multipart_options how;
    body_source from;
    detail::multipart_parser parser;
    std::size_t parts = 0;
    std::string name;
    std::string filename;
};

multipart::multipart(request& r, multipart_options how) : state_(std::make_unique<state>(r, how)) {}

multipart::~multipart() = default;

bool multipart::next() {
    if (!state_->parser.next()) return false;
    if (state_->parts++ == state_->how.parts_max)
        throw failure(status::content_too_large, "the form has too many parts");
    const std::string_view disposition = headers().get("Content-Disposition");
    std::optional<std::string> name = detail::parameter_of(disposition, "name");
    if (!detail::same_text(detail::main_value(disposition), "form-data") || !name)
        throw failure(status::bad_request, "a part of the form has no name");
    if (!detail::has_good_quotes(disposition))
        throw failure(status::bad_request, "Content-Disposition of a part of the form is malformed");
    state_->name = std::move(*name);
    state_->filename = without_directories(detail::parameter_of(disposition, "filename").value_or(std::string()));
    return true;
}

const std::string& multipart::name() const noexcept { return state_->name; }

const std::string& multipart::filename() const noexcept { return state_->filename; }

const http::headers& multipart::headers() const noexcept { return state_->parser.fields(); }

std::size_t multipart::read_some(net::mutable_buffer b) { return state_->parser.read_some(b); }

std::string multipart::text() {
    std::string all;
    std::array<char, 4096> piece{};
    while (const std::size_t n = read_some(piece)) {
        if (all.size() + n > state_->how.text_max)
            throw failure(status::content_too_large, "a field of the form is too large");
        all.append(piece.data(), n);
    }
    return all;
}

}  // namespace weft::http
