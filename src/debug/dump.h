// dump.h: what reports say of green threads: the pieces of a dump that others use as well.
//
// Who: any thread. See: dump.cc
#pragma once

#include <cstdint>

#include <weft/detail/source_location.h>

#include "sched/crash.h"
#include "sched/g.h"

namespace weft::detail {

struct M;
struct P;
struct scheduler;

[[nodiscard]] const char* text(g_state state) noexcept;
[[nodiscard]] const char* text(wait_reason reason) noexcept;

// What a G tells of itself. One that runs may end, and become another, while it is read.
struct identity {
    uint64_t id;
    uint64_t parent;
    const void* entry;  // the function that was started
    source_location where;
    char name[G::name_size];
    uint16_t last_p;

    // False: the G became another meanwhile.
    bool read(const G& g) noexcept;

    // As print_identity of crash.h.
    void print(report& out) const noexcept;
};

// Where a running G runs.
struct runner {
    uint32_t m = 0;
    int tid = 0;
    bool has_p = false;
    uint32_t p = 0;  // the one that it has, or had
};

// What an M is doing, read while it does it. Requires: threads_lock is held, or m is the caller's.
struct m_snapshot {
    const G* g = nullptr;
    const G* lent_by = nullptr;
    const G* pinned = nullptr;
    const P* p = nullptr;  // with has_p the one that it holds
    bool has_p = false;
    bool spinning = false;

    explicit m_snapshot(const M& m) noexcept;
};

// Takes the lock if it is to be had soon: a thread that is stopped may hold it.
[[nodiscard]] bool lock_soon(spin_lock& lock) noexcept;

// False: g runs no more, or threads_lock is not to be had.
[[nodiscard]] bool find_runner(scheduler& s, const G* g, runner& r) noexcept;

// Two or more lines on g, which has this id and runs: where, and its stack if that can be had.
void print_running(report& out, scheduler& s, const G& g, uint64_t id) noexcept;

// The stack of g, which has this id and is runnable.
void print_queued(report& out, const G& g, uint64_t id) noexcept;

// writer: the caller, if it is the monitor of s; it looks at its processors meanwhile.
void dump_scheduler(scheduler& s, int fd, monitor* writer = nullptr) noexcept;

}  // namespace weft::detail
