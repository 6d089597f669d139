// api.h: computed answers: JSON, by Boost.JSON.
#pragma once

#include <cstdint>

#include <weft/http/server.h>

namespace http_server {

// GET /api/stats: the counters of the server and of its scheduler.
void answer_with_stats(const weft::http::server_stats& counted, uint64_t log_lines_lost, weft::http::response& w);

// POST /api/echo: {"bytes": size of the body, "json": the posted value}. If the body is not valid
// JSON: 400, with the position and the reason. Throws weft::http::failure: 415.
void answer_with_echo(weft::http::request& r, weft::http::response& w);

}  // namespace http_server
