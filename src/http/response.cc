// response.cc: see weft/http/response.h.
#include <algorithm>
#include <array>
#include <span>
#include <stdexcept>

#include <weft/cancel.h>
#include <weft/error.h>
#include <weft/http/response.h>

#include "http/body_filter.h"
#include "http/exchange.h"
#include "http/text.h"

namespace weft::http {

namespace {

constexpr std::size_t unsent_max = std::size_t{16} * 1024;

// Throws what the interruption of the caller is, or the error.
void throw_if_failed(const std::error_code& ec) {
    if (ec == weft::errc::cancelled || ec == weft::errc::timed_out) throw_if_cancelled();
    if (ec) throw std::system_error(ec, "weft: cannot send the response");
}

void check_name(std::string_view name) {
    if (detail::same_text(name, "Transfer-Encoding"))
        throw std::invalid_argument("weft: the server sets Transfer-Encoding; write() the body as it is");
}

}  // namespace

void response::check_not_begun(const char* what) const {
    if (!parts_.has_begun) return;
    throw std::logic_error(std::string("weft: cannot change ") + what +
                           ", because the header of the response has been sent: set it before flush(), and before "
                           "16 KiB have been written");
}

response& response::status(unsigned code) {
    constexpr unsigned first = 200;
    constexpr unsigned last = 999;
    if (code < first || code > last) {
        throw std::invalid_argument("weft: " + std::to_string(code) +
                                    " is no status of a response: it must be from 200 to 999");
    }
    check_not_begun("the status");
    parts_.status = code;
    return *this;
}

response& response::set(std::string_view name, std::string_view value) {
    check_name(name);
    check_not_begun("a field");
    parts_.fields.set(name, value);
    return *this;
}

response& response::add(std::string_view name, std::string_view value) {
    check_name(name);
    check_not_begun("a field");
    parts_.fields.add(name, value);
    return *this;
}

response& response::erase(std::string_view name) {
    check_not_begun("a field");
    parts_.fields.erase(name);
    return *this;
}

void response::write(net::const_buffer b) {
    parts_.body_bytes += b.size();
    if (parts_.unsent.size() + b.size() <= unsent_max) {
        parts_.unsent.append(static_cast<const char*>(b.data()), b.size());
        return;
    }
    std::error_code ec;
    const std::array<net::const_buffer, 2> pieces{net::const_buffer(parts_.unsent), b};
    send_pieces(pieces, false, ec);
    parts_.unsent.clear();
    throw_if_failed(ec);
}

void response::flush() {
    std::error_code ec;
    const std::array<net::const_buffer, 1> pieces{net::const_buffer(parts_.unsent)};
    send_pieces(pieces, true, ec);
    parts_.unsent.clear();
    throw_if_failed(ec);
}

// Sends the next part of the body, after the filter has changed it.
void response::send_pieces(std::span<const net::const_buffer> pieces, bool is_flushed, std::error_code& ec) {
    const bool is_changed =
        parts_.filter != nullptr && (parts_.has_begun ? parts_.filter->is_active() : parts_.filter->begin(parts_));
    if (!is_changed) {
        exchange_.send_body(pieces, ec);
        return;
    }
    std::string changed;
    for (std::size_t i = 0; i < pieces.size(); ++i) {
        const bool is_last = i + 1 == pieces.size();
        parts_.filter->add({static_cast<const char*>(pieces[i].data()), pieces[i].size()}, is_last && is_flushed,
                           changed);
    }
    const std::array<net::const_buffer, 1> all{net::const_buffer(changed)};
    exchange_.send_body(all, ec);
}

void response::send(std::string_view body, std::string_view type) {
    check_not_begun("the body");
    parts_.unsent.clear();
    parts_.body_bytes = 0;
    set("Content-Type", type);
    write(body);
}

void response::redirect(std::string_view to, unsigned code) {
    status(code);
    set("Location", to);
}

// As send_file(), for a body that a filter changes.
void response::write_file(fs::file& file, uint64_t offset, uint64_t size) {
    constexpr uint64_t piece = uint64_t{64} * 1024;
    if (exchange_.is_head_request()) {
        flush();
        return;
    }
    std::string part;
    for (uint64_t done = 0; done < size;) {
        part.resize(static_cast<std::size_t>(std::min(size - done, piece)));
        const std::size_t n = file.pread(part, static_cast<int64_t>(offset + done));
        if (n == 0) {
            throw std::system_error(std::make_error_code(std::errc::io_error),
                                    "weft: cannot send the file: it has become shorter");
        }
        write(std::string_view(part).substr(0, n));
        done += n;
    }
}

void response::send_file(fs::file& file, uint64_t offset, uint64_t size) {
    check_not_begun("the body");
    parts_.unsent.clear();
    if (parts_.filter != nullptr && parts_.filter->would_change(parts_, size)) {
        parts_.body_bytes = 0;
        write_file(file, offset, size);
        return;
    }
    parts_.fields.set("Content-Length", std::to_string(size));
    parts_.body_bytes = size;
    std::error_code ec;
    exchange_.send_file(file, offset, size, ec);
    throw_if_failed(ec);
}

void response::trailer(std::string_view name, std::string_view value) {
    if (detail::is_of_connection(name) || detail::same_text(name, "Host")) {
        throw std::invalid_argument("weft: " + std::string(name) +
                                    " cannot follow the body: a recipient that took it for a field of the header "
                                    "would read another response; leave it out");
    }
    parts_.trailers.add(name, value);
}

}  // namespace weft::http
