// metric_table.h: every figure of stats_snapshot: its field, its name as a metric, and what it is.
//
// docs/page.md has the same table; test/observe/openmetrics_check.py compares them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <variant>

#include <weft/debug.h>

namespace weft::observe::detail {

enum class metric_kind : uint8_t { gauge, counter };

struct metric {
    const char* field;
    const char* name;  // a counter's sample has "_total" after it
    metric_kind kind;
    const char* help;
    std::variant<uint64_t stats_snapshot::*, unsigned stats_snapshot::*> member;

    [[nodiscard]] uint64_t of(const stats_snapshot& stats) const {
        return std::visit([&](auto field_of) -> uint64_t { return stats.*field_of; }, member);
    }
};

static_assert(sizeof(std::size_t) == sizeof(uint64_t), "a field of either type is a uint64_t stats_snapshot::*");

// NOLINTNEXTLINE(cppcoreguidelines-macro-usage): the name of a field and the field
#define WEFT_METRIC(field, name, kind, help) \
    metric { #field, "weft_" name, metric_kind::kind, help, &stats_snapshot::field }

inline const metric metrics[] = {
    WEFT_METRIC(procs, "procs", gauge, "Ps"),
    WEFT_METRIC(procs_idle, "procs_idle", gauge, "Ps without an M"),
    WEFT_METRIC(threads, "threads", gauge, "Ms"),
    WEFT_METRIC(threads_idle, "threads_idle", gauge, "Ms that sleep"),
    WEFT_METRIC(threads_spinning, "threads_spinning", gauge, "Ms that search for work"),
    WEFT_METRIC(threads_with_p, "threads_with_p", gauge, "Ms that hold a P"),
    WEFT_METRIC(threads_without_p,
                "threads_without_p",
                gauge,
                "Ms that run a green thread, or are in a blocking call, without a P"),
    WEFT_METRIC(spawned, "spawned", counter, "Green threads started"),
    WEFT_METRIC(finished, "finished", counter, "Green threads that have ended"),
    WEFT_METRIC(live, "live", gauge, "Green threads that live"),
    WEFT_METRIC(runnable, "runnable", gauge, "Green threads in a queue"),
    WEFT_METRIC(running, "running", gauge, "Green threads on an M, not in a blocking call"),
    WEFT_METRIC(running_without_p, "running_without_p", gauge, "Of these, those whose P was retaken"),
    WEFT_METRIC(in_call, "in_call", gauge, "Green threads in a blocking call"),
    WEFT_METRIC(waiting, "waiting", gauge, "Green threads that wait"),
    WEFT_METRIC(queued_local, "queued_local", gauge, "Runnable green threads in queues of Ps, normal class"),
    WEFT_METRIC(queued_global, "queued_global", gauge, "Runnable green threads in the global queue"),
    WEFT_METRIC(queued_high, "queued_high", gauge, "Runnable green threads of class high, in any queue"),
    WEFT_METRIC(queued_low, "queued_low", gauge, "Runnable green threads of class low, in any queue"),
    WEFT_METRIC(switches, "switches", counter, "Times that a green thread was given a P"),
    WEFT_METRIC(parks, "parks", counter, "Waits that blocked"),
    WEFT_METRIC(steals, "steals", counter, "Green threads stolen from another P"),
    WEFT_METRIC(steal_rounds, "steal_rounds", counter, "Times that a P went stealing"),
    WEFT_METRIC(global_gets, "global_gets", counter, "Green threads taken from the global queue"),
    WEFT_METRIC(overflows, "overflows", counter, "Times that a full ring moved half of itself to the global queue"),
    WEFT_METRIC(wakes, "wakes", counter, "Futex wakes of sleeping Ms"),
    WEFT_METRIC(timers_fired, "timers_fired", counter, "Deadlines that came"),
    WEFT_METRIC(hand_offs, "hand_offs", counter, "Ps that their own M handed off"),
    WEFT_METRIC(retakes_blocked, "retakes_blocked", counter, "Ps retaken from an M that did not run"),
    WEFT_METRIC(
        retakes_burning, "retakes_burning", counter, "Ps retaken from an M that had computed for longer than a slice"),
    WEFT_METRIC(retakes_in_call, "retakes_in_call", counter, "Ps retaken from an M in a blocking call"),
    WEFT_METRIC(yield_requests, "yield_requests", counter, "Green threads asked to yield because their slice was over"),
    WEFT_METRIC(
        preemptions, "preemptions", counter, "Green threads that entered the scheduler because they were asked to"),
    WEFT_METRIC(preempted, "preempted", counter, "Of these, those in instrumented code"),
    WEFT_METRIC(interrupted, "interrupted", counter, "Of these, those that a signal interrupted"),
    WEFT_METRIC(threads_moved, "threads_moved", counter, "Ms that shared a CPU and moved to another one"),
    WEFT_METRIC(thread_shortages, "thread_shortages", counter, "Times that a thread was needed and could not be made"),
    WEFT_METRIC(monitor_looks, "monitor_looks", counter, "Times that the monitor has scanned the Ps"),
    WEFT_METRIC(monitor_late,
                "monitor_late",
                counter,
                "Times that the monitor was late: the machine was busy elsewhere, or stopped"),
    WEFT_METRIC(stacks_mapped, "stacks_mapped", gauge, "Slots of mapped stack slabs"),
    WEFT_METRIC(stacks_unmapped, "stacks_unmapped", counter, "Slots of stack slabs that were unmapped"),
    WEFT_METRIC(stack_bytes_trimmed, "stack_trimmed_bytes", counter, "Memory of unused stacks returned to the system"),
    WEFT_METRIC(g_bytes_trimmed, "g_trimmed_bytes", counter, "Memory of ended green threads returned to the system"),
    WEFT_METRIC(stack_cache_hits, "stack_cache_hits", counter, "Stacks taken from the cache of the P"),
    WEFT_METRIC(stack_cache_misses, "stack_cache_misses", counter, "Stacks taken from elsewhere"),
    WEFT_METRIC(g_cache_hits, "g_cache_hits", counter, "Ended green threads reused from the cache of the P"),
    WEFT_METRIC(g_cache_misses, "g_cache_misses", counter, "Times that this cache was empty"),
};

#undef WEFT_METRIC

// Its fields are numbers of 8 bytes, but for procs and procs_idle, which have 4.
static_assert(std::size(metrics) == sizeof(stats_snapshot) / sizeof(uint64_t) + 1, "each field is a metric");

}  // namespace weft::observe::detail
