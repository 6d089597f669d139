// static_files.h: files below the root, as answers to GET and HEAD: conditional, and in parts (RFC 9110, 13 and 14).
//
//   a folder                       its index.html; without a slash at the end, a redirection to that with one
//   If-None-Match                  304 if the client has this very content; it counts before the next one
//   If-Modified-Since              304 if it was not changed since
//   Range, unless If-Range         206 with one part, or 416; several parts at a time are answered with the whole file, as
//   names another content          the standard allows
#pragma once

#include "answer.h"
#include "document_root.h"
#include "http.h"
#include "request_path.h"

namespace http_server {

// Throws refusal: 403, 404, 503.
[[nodiscard]] answer answer_with_file(const document_root& root, const request& r, const request_path& path);

}  // namespace http_server
