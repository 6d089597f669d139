// websocket_handshake.h: whether a request may become a WebSocket connection (RFC 6455, 4.2.1).
#pragma once

#include <string>

#include <weft/http/request.h>
#include <weft/http/response.h>
#include <weft/http/websocket.h>

namespace weft::http::detail {

// Throws failure: 426 if the request asks for no WebSocket of version 13, 400 if it is malformed,
// 403 if the origin is not allowed.
void check_upgrade(const request& r, response& w, const websocket_options& how);

// The subprotocol for the request; empty: none.
[[nodiscard]] std::string choose_subprotocol(const request& r, const websocket_options& how);

}  // namespace weft::http::detail
