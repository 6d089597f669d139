// site.h: what the server answers: files, and a little JSON.
#pragma once

#include <atomic>
#include <cstdint>

#include <weft/http/server.h>

#include "document_root.h"

namespace http_server {

// Adds the handlers. All arguments must outlive the server.
void add_site(weft::http::server& to, const document_root& root, const std::atomic<uint64_t>& log_lines_lost);

}  // namespace http_server
