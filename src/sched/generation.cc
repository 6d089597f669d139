// generation.cc: see generation.h.
#include "sched/generation.h"

#include "base/assert.h"
#include "sched/scheduler.h"

namespace weft::detail {

constinit atomic<uint32_t> fork_generation{0};

bool is_from_before_fork(const scheduler& s) noexcept {
    return s.made_in != fork_generation.load(relaxed);  // relaxed: changes only while there is one thread
}

void fatal_in_child(const char* what) noexcept { fatal("%s used in the child of fork; see docs/fork.md", what); }

}  // namespace weft::detail
