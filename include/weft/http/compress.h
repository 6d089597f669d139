// compress.h: middleware that compresses responses with gzip.
//
//     s.use(http::compress());
//
// See: docs/http_compress.md
#pragma once

#include <cstddef>

#include <weft/detail/require.h>
#include <weft/http/server.h>

namespace weft::http {

struct compress_options {
    /// Shorter bodies are sent as they are, if their size is known before anything is sent.
    std::size_t size_min = 1024;
};

/// Compresses a response if all of this applies:
///
/// - The client accepts gzip. Otherwise only Vary is set.
/// - Content-Type is text, JSON, JavaScript, XML, SVG or WebAssembly, but no stream of events.
/// - It has no Content-Encoding, no Content-Range, and no "Cache-Control: no-transform"; its status
///   is not 204, 206 or 304.
///
/// It sets Content-Encoding and Vary, makes a strong ETag weak, and removes Content-Length and
/// Accept-Ranges. What is flushed reaches the client at once. Needs 128 KiB while a response is
/// sent. Do not compress secrets together with text that the client has chosen: the size tells both
/// (the attack BREACH).
[[nodiscard]] middleware compress(compress_options how = {});

}  // namespace weft::http
