// dump.h: the parts of a dump that other reports share.
//
// Threads: any thread. See: dump.cc
#pragma once

#include <cstdint>

#include <weft/detail/source_location.h>

#include "lifecycle/crash.h"
#include "sched/g.h"

namespace weft::detail {

struct M;
struct P;
struct scheduler;

[[nodiscard]] const char* text(g_state state) noexcept;
[[nodiscard]] const char* text(wait_reason reason) noexcept;

// A running G may end and become another during the read.
struct identity {
    uint64_t id;
    uint64_t parent;
    const void* entry;  // the started function
    source_location where;
    char name[G::name_size];
    uint16_t last_p;

    // Returns false if the G became another.
    bool read(const G& g) noexcept;

    // As print_identity of crash.h.
    void print(report& out) const noexcept;
};

struct runner {
    uint32_t m = 0;
    int tid = 0;
    bool has_p = false;
    uint32_t p = 0;  // the P it has or had
};

// A snapshot. Requires: threads_lock is held, or m is the caller's.
struct m_snapshot {
    const G* g = nullptr;
    const G* lent_by = nullptr;
    const G* pinned = nullptr;
    const P* p = nullptr;  // with has_p: the one it holds
    bool has_p = false;
    bool spinning = false;

    explicit m_snapshot(const M& m) noexcept;
};

// A stopped thread may hold the lock, so this tries only briefly.
[[nodiscard]] bool lock_soon(spin_lock& lock) noexcept WEFT_TRY_ACQUIRE(true, lock);

// Returns false if g is not running or threads_lock is unavailable.
[[nodiscard]] bool find_runner(scheduler& s, const G* g, runner& r) noexcept;

// Prints where g, which runs and has this id, runs, and its stack if available.
void print_running(report& out, scheduler& s, const G& g, uint64_t id) noexcept;

// The same for a runnable g.
void print_queued(report& out, const G& g, uint64_t id) noexcept;

// writer: the caller, if it is s's monitor, which checks its Ps while it writes.
void dump_scheduler(scheduler& s, int fd, monitor* writer = nullptr) noexcept;

}  // namespace weft::detail
