// http2_absent.cc: a library that is built without nghttp2. See http2.h.
#include "http/http2.h"

namespace weft::http::detail {

bool has_http2() noexcept { return false; }

bool serve_http2(
    server_state& /*server*/, transport& /*client*/, input& /*in*/, place& /*of_client*/, const std::string& /*peer*/) {
    return false;
}

}  // namespace weft::http::detail
