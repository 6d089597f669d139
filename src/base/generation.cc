// generation.cc: see generation.h.
#include "base/generation.h"

#include "base/assert.h"

namespace weft::detail {

constinit atomic<uint32_t> fork_generation{0};

void fatal_in_child(const char* what) noexcept { fatal("%s used in the child of fork; see docs/fork.md", what); }

}  // namespace weft::detail
