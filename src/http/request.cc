// request.cc: see weft/http/request.h.
#include <array>
#include <stdexcept>

#include <weft/cancel.h>
#include <weft/error.h>
#include <weft/http/request.h>

#include "http/exchange.h"
#include "http/text.h"

namespace weft::http {

std::optional<std::string> request::query(std::string_view name) const {
    std::string_view rest = parts_.query;
    while (!rest.empty()) {
        const std::size_t end = rest.find('&');
        const std::string_view pair = rest.substr(0, end);
        const std::size_t equals = pair.find('=');
        const std::optional<std::string> key = detail::percent_decoded(pair.substr(0, equals), true);
        if (key == name) {
            return equals == std::string_view::npos ? std::string()
                                                    : detail::percent_decoded(pair.substr(equals + 1), true);
        }
        rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
    }
    return std::nullopt;
}

std::string_view request::param(std::string_view name) const {
    for (const auto& [key, value] : parts_.params) {
        if (key == name) return value;
    }
    throw std::invalid_argument("weft: the pattern \"" + std::string(parts_.pattern) + "\" has no {" +
                                std::string(name) + "}");
}

std::size_t request::read_some(net::mutable_buffer b, std::error_code& ec) {
    const std::size_t n = exchange_.read_body(b, ec);
    if (n != 0) ec.clear();  // what came before the error comes first; the error comes with the next call
    return n;
}

std::size_t request::read_some(net::mutable_buffer b) {
    std::error_code ec;
    const std::size_t n = read_some(b, ec);
    if (ec == weft::errc::cancelled || ec == weft::errc::timed_out) throw_if_cancelled();
    if (ec) throw std::system_error(ec, "weft: cannot read the body of the request");
    return n;
}

std::string request::body() {
    constexpr std::size_t reserved_max = std::size_t{64} * 1024;  // the client may never send what it announces
    constexpr std::size_t piece = 4096;
    std::string all;
    std::size_t filled = 0;
    const uint64_t announced = parts_.content_length.value_or(piece);
    all.resize(static_cast<std::size_t>(announced < reserved_max ? announced : reserved_max));
    for (;;) {
        std::array<char, 1> more{};
        const bool is_full = filled == all.size();
        const std::size_t n = is_full ? read_some(more) : read_some({all.data() + filled, all.size() - filled});
        if (n == 0) break;
        if (is_full) {
            all.push_back(more[0]);
            all.resize(all.size() * 2 + piece);
        }
        filled += n;
    }
    all.resize(filled);
    return all;
}

weft::event& request::draining() const noexcept { return exchange_.draining(); }

void request::allow_encoded_body() noexcept { parts_.allows_encoded_body = true; }

void request::set_body_max(uint64_t bytes) noexcept { exchange_.set_body_max(bytes); }

}  // namespace weft::http
