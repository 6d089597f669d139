#include "fields.h"

#include <array>
#include <boost/beast/core/string.hpp>
#include <boost/beast/http/rfc7230.hpp>
#include <iterator>
#include <vector>

namespace reverse_proxy {

namespace {

using boost::beast::iequals;

std::string_view view(boost::beast::string_view s) { return {s.data(), s.size()}; }

constexpr std::array<http::field, 8> for_one_hop = {http::field::connection,
                                                    http::field::keep_alive,
                                                    http::field::proxy_authenticate,
                                                    http::field::proxy_authorization,
                                                    http::field::proxy_connection,
                                                    http::field::te,
                                                    http::field::trailer,
                                                    http::field::upgrade};

// A client must not be able to remove these fields by naming them in Connection: a server behind
// the proxy relies on them.
bool may_be_named(std::string_view name) {
    return !iequals(name, "Host") && !iequals(name, "Content-Length") && !iequals(name, "Transfer-Encoding") &&
           !iequals(name, "X-Forwarded-For") && !iequals(name, "X-Forwarded-Proto") &&
           !iequals(name, "X-Forwarded-Host");
}

void remove_those_for_one_hop(http::fields& fields) {
    std::vector<std::string> named;
    const auto [first, last] = fields.equal_range(http::field::connection);
    for (auto at = first; at != last; ++at) {
        for (const auto token : http::token_list(at->value())) {
            if (may_be_named(view(token))) named.emplace_back(view(token));
        }
    }
    for (const std::string& name : named) fields.erase(name);
    for (const http::field name : for_one_hop) fields.erase(name);
}

void append(http::fields& fields, boost::beast::string_view name, std::string_view what) {
    std::string value;
    const auto [first, last] = fields.equal_range(name);
    for (auto at = first; at != last; ++at) value.append(view(at->value())).append(", ");
    value += what;
    fields.set(name, value);
}

bool is_only_chunked(const http::fields& fields) {
    return fields.count(http::field::transfer_encoding) == 1 &&
           iequals(fields[http::field::transfer_encoding], "chunked");
}

}  // namespace

void check(const request_parser& p) {
    const http::request_header<>& header = p.get();
    const std::size_t hosts = header.count(http::field::host);
    if (hosts > 1 || (hosts == 0 && header.version() >= 11)) {
        throw refusal{http::status::bad_request, "a request must have exactly one Host field"};
    }
    if (header.method() == http::verb::connect)
        throw refusal{http::status::method_not_allowed, "CONNECT is not supported by a reverse proxy"};
    if (header.count(http::field::transfer_encoding) == 0) return;
    if (header.version() < 11 || header.count(http::field::content_length) != 0) {
        throw refusal{http::status::bad_request, "Transfer-Encoding is not allowed in this request"};
    }
    if (!is_only_chunked(header))
        throw refusal{http::status::not_implemented, "chunked is the only supported transfer coding"};
}

bool is_understood(const answer_parser& p) {
    const http::response_header<>& header = p.get();
    if (header.count(http::field::transfer_encoding) == 0) return true;
    return header.count(http::field::content_length) == 0 && is_only_chunked(header);
}

bool wants_upgrade(const http::fields& fields) {
    return fields.count(http::field::upgrade) != 0 &&
           http::token_list(fields[http::field::connection]).exists("upgrade");
}

void prepare_request(request_parser& p, std::string_view client_address) {
    http::request<http::buffer_body>& m = p.get();
    const bool upgrade = m.version() >= 11 && wants_upgrade(m);
    const std::string protocol(view(m[http::field::upgrade]));
    const std::string via = m.version() >= 11 ? "1.1 weft" : "1.0 weft";
    remove_those_for_one_hop(m);
    m.erase(http::field::expect);  // the proxy answers it
    m.version(11);
    if (m.count(http::field::host) == 0) m.set(http::field::host, "");
    append(m, "X-Forwarded-For", client_address);
    m.set("X-Forwarded-Host", m[http::field::host]);
    m.set("X-Forwarded-Proto", "http");
    append(m, "Via", via);
    if (upgrade) {
        m.set(http::field::connection, "upgrade");
        m.set(http::field::upgrade, protocol);
    }
}

bool prepare_answer(answer_parser& p, unsigned client_version, bool keep_alive) {
    http::response<http::buffer_body>& m = p.get();
    const bool upgraded = m.result() == http::status::switching_protocols;
    const std::string protocol(view(m[http::field::upgrade]));
    remove_those_for_one_hop(m);
    append(m, "Via", m.version() >= 11 ? "1.1 weft" : "1.0 weft");
    m.version(client_version);
    if (upgraded) {
        m.set(http::field::connection, "upgrade");
        m.set(http::field::upgrade, protocol);
        return false;
    }
    if (!p.is_done() && !p.content_length()) {  // the length is not known in advance
        m.chunked(client_version >= 11);
        keep_alive = keep_alive && client_version >= 11;
    } else if (p.chunked() && client_version < 11) {
        m.chunked(false);  // an answer without its body, for HEAD
    }
    m.keep_alive(keep_alive);
    return keep_alive;
}

}  // namespace reverse_proxy
