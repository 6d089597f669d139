// static_files.h: answers GET and HEAD with files below the root, conditionally and in parts (RFC
// 9110, 13 and 14).
//
// - A folder: its index.html. Without a slash at the end: a redirection to the same path with one.
// - If-None-Match: 304 if the client has this content. This takes precedence over the next field.
// - If-Modified-Since: 304 if the file has not changed since then.
// - Range, unless If-Range names other content: 206 with one part, or 416. A request for several
//   parts gets the whole file, as the standard allows.
#pragma once

#include "answer.h"
#include "document_root.h"
#include "http.h"
#include "request_path.h"

namespace http_server {

// Throws refusal: 403, 404, 503.
[[nodiscard]] answer answer_with_file(const document_root& root, const request& r, const request_path& path);

}  // namespace http_server
