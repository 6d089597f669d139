// recorded.h: a copy of the rings of a runtime, decoded and in order.
//
// Clocks of different CPUs may differ by some nanoseconds, so a G may seem to run before it was
// made runnable. replay() repairs that: see timeline.h.
//
// Threads: the one that makes it; afterwards immutable.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "events/event.h"

namespace weft::observe::detail {

// An event, with its time. thread: an index of recorded::threads.
struct step {
    int64_t ns;
    uint64_t id;
    uint64_t argument;
    uint32_t thread;
    uint32_t text;  // an index of recorded::texts; 0: none
    weft::detail::event_kind kind;
    uint8_t detail;
};

struct recorded_ring {
    uint32_t m = 0;  // the index of its last M
    int tid = 0;     // 0: unknown
    bool is_outside = false;
    uint64_t lost = 0;
};

// Where a green thread was started. Empty if unknown.
struct place {
    std::string file;
    std::string function;
    uint32_t line = 0;
};

// What is known of a green thread without its events.
struct known_g {
    uint64_t id;
    uint64_t site;    // a key of recorded::places
    uint32_t name;    // an index of recorded::texts
    uint32_t labels;  // as name: key, 0, value, 0 …
};

struct recorded {
    std::vector<step> steps;  // in the order of time; those of one thread in the order in which they happened
    std::vector<recorded_ring> threads;
    std::vector<known_g> gs;  // those that lived at the snapshot
    std::vector<std::string> texts{std::string{}};
    // By what events have: addresses in the program, or numbers in a file.
    std::unordered_map<uint64_t, std::string> literals;  // names of regions and counters
    std::unordered_map<uint64_t, place> places;          // of spawn events and of gs
    int64_t began_ns = 0;                                // the first event, or the snapshot
    int64_t ended_ns = 0;
    int64_t realtime_minus_monotonic_ns = 0;
    int pid = 0;
    std::string program;
    bool is_filtered = false;  // it lacks events of some green threads
    uint64_t unrecorded = 0;   // threads for whose events there was no memory
};

}  // namespace weft::observe::detail
