// metrics.h: the figures of a runtime in the text format of OpenMetrics, which Prometheus reads.
//
// Part of the component weft::observe. For a program that has an HTTP server already; page.h is a
// server that has these, too.
//
//     response.body() = weft::observe::metrics();
//     response.set("Content-Type", weft::observe::metrics_type);
//
// See: docs/page.md
#pragma once

#include <iosfwd>
#include <string>

#include <weft/detail/require.h>
#include <weft/runtime.h>

namespace weft::observe {

/// The media type of that text.
inline constexpr const char* metrics_type = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// All figures of weft::stats() and weft::scheduling_latency(), and the queue of each P: of the
/// runtime of the calling green thread, or of the default one. Ends with "# EOF". Takes some ten
/// microseconds; nothing is stopped. Throws std::bad_alloc.
[[nodiscard]] std::string metrics();

/// Those of this runtime.
[[nodiscard]] std::string metrics(const runtime& of);

/// Writes that text.
void write_metrics(std::ostream& out);
void write_metrics(std::ostream& out, const runtime& of);

}  // namespace weft::observe
