// frames_text.h: the frames of a stack as lines, in the form of lifecycle/report.h.
//
// Threads: one.
#pragma once

#include <string>

#include "observe/json.h"
#include "observe/outside/code.h"
#include "observe/outside/stacks.h"

namespace weft::observe::detail {

// Lines that begin with four spaces. is_parked: of a green thread that waits, whose headline says
// why it is in the runtime.
[[nodiscard]] std::string frames_text(const chain& frames, code& names, bool is_parked);

// The frames as values of an open array, with the fields of a dump.
void add_frames(json_text& j, const chain& frames, code& names);

}  // namespace weft::observe::detail
