// api.h: answers that are computed: JSON, by Boost.JSON.
#pragma once

#include "answer.h"
#include "counters.h"
#include "http.h"

namespace http_server {

// GET /api/stats: what the server has counted, and its scheduler.
[[nodiscard]] answer answer_with_stats(const counters& counted);

// POST /api/echo: {"bytes": size of the body, "json": what was posted}. What is no JSON: 400, with where and why. Throws refusal: 415.
[[nodiscard]] answer answer_with_echo(const request& r);

}  // namespace http_server
