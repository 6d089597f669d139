// wait_cycles.h: cycles of green threads that wait for each other, while others may go on.
//
// Threads: any.
#pragma once

#include <cstdint>

#include <weft/detail/wait.h>

#include "sched/g.h"

namespace weft::detail {

struct scheduler;

struct wait_cycle_link {
    uint64_t id;
    int64_t since_ns;  // of this wait: an id with another time is another wait
    const scheduler* home;
    const void* object;
    wait_reason reason;
    char name[G::name_size];
};

// Calls each(closure, links, count) for every cycle that begins with a green thread of s. In a
// cycle each waits for a mutex that the next one holds, or for a future that it must fulfil. No
// deadline or cancellation can end its wait. The green threads are read one after the other, so a
// cycle is real only if a second search finds the same waits. At most 64 links. each may throw.
void for_each_wait_cycle(scheduler& s,
                         void (*each)(void* closure, const wait_cycle_link* links, uint32_t count),
                         void* closure);

}  // namespace weft::detail
