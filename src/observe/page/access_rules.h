// access_rules.h: which requests are answered.
//
// The token is in the query or in "Authorization: Bearer". There is no cookie: a browser sends
// those of one port to all other ports of the host, too.
//
// /metrics needs none, so that Prometheus can read it from this machine. But then the Host field
// has to be an address or "localhost". Otherwise a page of any web site, whose name its owner makes
// an address of this machine (DNS rebinding), could read it through the user's browser.
//
// Threads: any.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <weft/net/endpoint.h>

namespace weft::observe::detail {

// 128 random bits. Throws std::system_error.
[[nodiscard]] std::string random_token();

// Throws std::invalid_argument.
void check_token(std::string_view token);

[[nodiscard]] bool is_loopback(const net::endpoint& at) noexcept;

// Takes as long whatever the difference.
[[nodiscard]] bool are_equal(std::string_view a, std::string_view b) noexcept;

// The value of a query "a=1&b=2", without decoding; empty: it is not there.
[[nodiscard]] std::string_view value_in_query(std::string_view query, std::string_view name) noexcept;

// The token of an Authorization field "Bearer 1234"; empty: it is of another scheme.
[[nodiscard]] std::string_view bearer_token(std::string_view authorization) noexcept;

// An IP address, or localhost, with or without a port.
[[nodiscard]] bool names_no_other_host(std::string_view host);

}  // namespace weft::observe::detail
