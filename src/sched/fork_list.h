// fork_list.h: where a green thread's pending forks are: weft/detail/fork_frame.h.
//
// Threads: the G itself.
#pragma once

#include "sched/g.h"
#include "sched/m.h"
#include "stack/stack.h"

namespace weft::detail {

struct fork_frame;

// The newest of g's pending forks.
[[nodiscard]] inline fork_frame*& fork_list_of(const G& g) noexcept {
    struct stack* on = g.stack;
    while (on->continues) [[unlikely]]
        on = on->next;
    return on->forks;
}

}  // namespace weft::detail
