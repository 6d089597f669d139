// exporters.h: forms in which a recording is written. Each throws std::system_error.
#pragma once

#include <cstdint>
#include <string>

#include "observe/recorded.h"

namespace weft::observe::detail {

void write_perfetto(const recorded& r, const std::string& path);
void write_chrome_json(const recorded& r, const std::string& path);

// Times from the first event.
void write_text(const recorded& r, const std::string& path, int64_t from_ns, int64_t to_ns);

}  // namespace weft::observe::detail
