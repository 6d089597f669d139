// state.h: what a runtime does at this moment, in figures: of each P, and of its green threads by
// state, by the place where they were started, and by labels.
//
// One pass over all Gs reads no stacks, and freezes none. After it, at most labels_read Gs are
// frozen, to read their labels, waits_read, to read for what they wait, and stacks_measured, to
// measure their stacks. So the time is that
// of reading the memory of the Gs (see docs/page.md).
//
// Nothing is stopped: each figure is right, but not all are of the same instant.
//
// Threads: any that keeps the scheduler.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <weft/debug.h>
#include <weft/detail/source_location.h>

#include "debug/stats.h"

namespace weft::detail {
struct scheduler;
}

namespace weft::observe::detail {

// A green thread on an OS thread.
struct running_g {
    uint64_t id = 0;
    std::string name;
    source_location where;
    int tid = 0;
    bool in_call = false;  // in a blocking()
    bool has_p = false;
    int64_t since_ns = -1;  // -1: unknown
};

struct proc_state {
    proc_snapshot counted;
    bool runs = false;
    running_g g;  // if runs
};

// A wait reason, or a state.
struct count_of {
    const char* what;
    uint64_t count;
};

// Green threads that were started at one place.
struct site_state {
    source_location where;
    std::string name;  // if all have the same
    uint64_t count = 0;
    int64_t oldest_ns = -1;  // the longest time in one state; -1: unknown
    std::vector<count_of> states;
};

struct label_state {
    std::string text;  // key=value, key=value
    uint64_t count = 0;
};

// A channel, a mutex, or another object for which green threads wait.
struct object_state {
    const void* at;          // a mutex, or the lock of another object, as in reports of deadlocks
    const char* reason;      // of most of the waits
    uint64_t count;          // of waits; a select counts for each of its cases
    int64_t oldest_ns = -1;  // the longest of the waits that were read; -1: unknown
    source_location where;   // where one of the waiters was started
};

struct stack_state {
    uint64_t bound = 0;               // green threads that have one
    std::size_t measured = 0;         // of these
    std::size_t touched_average = 0;  // bytes
    std::size_t default_size = 0;     // usable bytes
};

struct runtime_state {
    static constexpr std::size_t sites_shown = 200;
    static constexpr std::size_t labels_shown = 50;
    static constexpr std::size_t labels_read = 2048;
    static constexpr std::size_t objects_shown = 20;
    static constexpr std::size_t waits_read = 1024;
    static constexpr std::size_t stacks_measured = 64;
    static constexpr std::size_t without_p_shown = 64;

    int64_t now_ns = 0;   // CLOCK_MONOTONIC
    int64_t took_ns = 0;  // to find all of this
    std::string name;
    stats_snapshot stats;
    weft::detail::latencies latencies;
    stack_state stacks;
    std::vector<proc_state> procs;
    std::vector<running_g> without_p;  // in a blocking call, or retaken
    std::vector<count_of> states;      // the largest first, as those below
    std::vector<site_state> sites;
    std::size_t sites_left_out = 0;
    std::vector<label_state> labels;
    std::size_t labels_left_out = 0;
    bool labels_are_estimates = false;
    std::vector<object_state> objects;   // the largest first
    bool objects_are_estimates = false;  // a sample of the waits was read
};

// Throws std::bad_alloc.
[[nodiscard]] runtime_state read_state(weft::detail::scheduler& s);

// The form weft.state/1 of docs/page.md.
[[nodiscard]] std::string to_json(const runtime_state& state, std::string_view program, bool may_record);

}  // namespace weft::observe::detail
