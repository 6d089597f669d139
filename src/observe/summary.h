// summary.h: texts that say what a recording shows (docs/recording.md#weft-trace).
#pragma once

#include <string>
#include <string_view>

#include "observe/recorded.h"

namespace weft::observe::detail {

// Where time went, by place of start; waits by reason; the longest delays; regions.
[[nodiscard]] std::string summary_of(const recorded& r);

// What the longest region of this name waited for, and what those did that it waited for. Throws
// std::invalid_argument if no region has this name; the message lists their names.
[[nodiscard]] std::string critical_path_of(const recorded& r, std::string_view region);

}  // namespace weft::observe::detail
