// http2.h: HTTP/2, for a connection whose client speaks it.
//
// http2_session.cc implements it over nghttp2. If the library is built without nghttp2,
// http2_absent.cc takes the place of all http2_*.cc.
#pragma once

#include <string>
#include <string_view>

#include <weft/http/detail/transport.h>

#include "http/input.h"
#include "http/server_state.h"

namespace weft::http::detail {

// What a client sends first (RFC 9113, 3.4).
inline constexpr std::string_view http2_preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

[[nodiscard]] bool has_http2() noexcept;

// Serves the connection. in has what has arrived, which begins with the preface. Returns at the end
// of the connection: whether the client may still send, because the server has ended it.
[[nodiscard]] bool serve_http2(
    server_state& server, transport& client, input& in, place& of_client, const std::string& peer);

}  // namespace weft::http::detail
