// api.h: computed answers: JSON, by Boost.JSON.
#pragma once

#include "answer.h"
#include "counters.h"
#include "http.h"

namespace http_server {

// GET /api/stats: the counters of the server and of its scheduler.
[[nodiscard]] answer answer_with_stats(const counters& counted);

// POST /api/echo: {"bytes": size of the body, "json": the posted value}. If the body is not valid
// JSON: 400, with the position and the reason. Throws refusal: 415.
[[nodiscard]] answer answer_with_echo(const request& r);

}  // namespace http_server
