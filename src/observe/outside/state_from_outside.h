// state_from_outside.h: what weft.state/1 says of a runtime, as far as it can be read from outside.
//
// Threads: one.
#pragma once

#include <string>

#include "observe/outside/code.h"
#include "observe/outside/layout.h"
#include "observe/outside/memory.h"

namespace weft::observe::detail {

// Of the runtime with the most green threads. Throws std::runtime_error if no runtime exists.
[[nodiscard]] std::string state_from_outside(target_memory& memory, code& program, layout& where);

}  // namespace weft::observe::detail
