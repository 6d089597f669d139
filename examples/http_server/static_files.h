// static_files.h: answers GET and HEAD with files below the root, conditionally and in parts (RFC
// 9110, 13 and 14).
//
// - A folder: its index.html. Without a slash at the end: a redirection to the same path with one.
// - If-None-Match: 304 if the client has this content. This takes precedence over the next field.
// - If-Modified-Since: 304 if the file has not changed since then.
// - Range, unless If-Range names other content: 206 with one part, or 416. A request for several
//   parts gets the whole file, as the standard allows.
#pragma once

#include <weft/http/server.h>

#include "document_root.h"
#include "request_path.h"

namespace http_server {

// Throws weft::http::failure: 403, 404, 503.
void answer_with_file(const document_root& root,
                      const request_path& path,
                      const weft::http::request& r,
                      weft::http::response& w);

}  // namespace http_server
