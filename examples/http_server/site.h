// site.h: what the server answers: files, and a little JSON.
#pragma once

#include <atomic>
#include <cstdint>

#include <weft/http/files.h>
#include <weft/http/server.h>

namespace http_server {

// Adds the handlers. The references must outlive the server.
void add_site(weft::http::server& to, weft::http::files root, const std::atomic<uint64_t>& log_lines_lost);

}  // namespace http_server
