// g_snapshot.h: what one green thread does, read while it is frozen or runs.
//
// Dumps, traces, the watchdog and the deadlock report share it.
//
// Threads: any thread. See: sched/freeze.h
#pragma once

#include <cstddef>
#include <cstdint>

#include <weft/detail/source_location.h>

#include "lifecycle/report.h"
#include "sched/g.h"

namespace weft::detail {

struct M;
struct P;
struct scheduler;

[[nodiscard]] const char* text(g_state state) noexcept;
[[nodiscard]] const char* text(wait_reason reason) noexcept;

// Of a G that may end and become another at any time.
[[nodiscard]] uint64_t id_of(const G& g) noexcept;

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

// The frames of one G.
struct stack_frames {
    static constexpr int max = 32;

    int count = 0;
    const void* pcs[max];
};

// Taken while the G is frozen, or runs.
struct g_snapshot {
    static constexpr std::size_t labels_max = 160;

    identity who;
    g_state state = g_state::dead;
    wait_reason reason = wait_reason::none;
    int64_t since_ns = 0;  // 0: unknown
    bool never_ran = false;
    bool has_labels = false;
    uint32_t flags = 0;  // of G::special: high, low, pinned
    bool has_runner = false;
    runner on;                        // of one that runs or is in a call
    const char* no_frames = nullptr;  // why a running one has no frames
    stack_frames frames;
    char labels[labels_max];

    void take(const G& g) noexcept;

    // Completes the snapshot of one that runs or is in a call: finds its thread, and asks that for
    // its frames. g is not frozen.
    void find_thread(scheduler& s, const G& g) noexcept;

    // Prints its thread, if it has one, and its frames, or why they are missing.
    void print_stack(report& out) const noexcept;
};

// Prints where g, which runs and has this id, runs, and its stack if available.
void print_running(report& out, scheduler& s, const G& g, uint64_t id) noexcept;

// The same for a runnable g.
void print_queued(report& out, const G& g, uint64_t id) noexcept;

}  // namespace weft::detail
