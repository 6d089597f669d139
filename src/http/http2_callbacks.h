// http2_callbacks.h: what nghttp2 calls for a connection.
#pragma once

#include <nghttp2/nghttp2.h>

#include <array>
#include <cstdint>

namespace weft::http::detail {

class http2_session;

// The PING whose answer shows that the client knows of the end: 8 bytes.
inline constexpr std::array<uint8_t, 8> http2_drain_ping{'w', 'e', 'f', 't', ' ', 'e', 'n', 'd'};

// A session of nghttp2 that calls the functions of http2_callbacks.cc for of. Throws
// std::bad_alloc.
[[nodiscard]] nghttp2_session* make_http2_native(http2_session& of);

}  // namespace weft::http::detail
