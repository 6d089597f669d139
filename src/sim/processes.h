// processes.h: one search for a failing schedule, by several processes.
//
// A simulation uses one CPU: its runtime has one M, and clocks, random numbers and counters of the
// process belong to it. So a search on all CPUs is made by children of this process, each with a
// seed of its own. A child that finds a failure sends its schedule; this process then runs that
// schedule, makes it shorter and reports it, as if it had found it itself.
//
// Rejected: simulations on several threads of a process (static variables of the test would be
//           shared); starting the program again (a test may be anywhere in it).
//
// Threads: a plain thread that has no other threads to lose: the children have only it.
// See:     docs/sim.md
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>

namespace weft::sim {

// Shared by the processes of a search.
struct progress {
    std::atomic<uint64_t> schedules{0};
    std::atomic<uint64_t> steps{0};
    std::atomic<bool> stop{false};
};

// What a child has found. Sent as text.
struct finding {
    bool failed = false;  // false: only locks in orders that can deadlock
    std::string schedule;
    std::string reason;

    [[nodiscard]] bool empty() const noexcept { return !failed && reason.empty(); }
};

struct search_result {
    finding found;
    std::string death;  // how a child ended that did not say what it found; empty: none did
    uint64_t schedules = 0;
    uint64_t steps = 0;
};

constexpr unsigned most_processes = 1024;

// Calls work(i) in child i for i from 0 to n - 1. The first finding that has failed ends the
// search. Throws std::system_error: no children. On Windows std::invalid_argument.
[[nodiscard]] search_result search_in_processes(unsigned n,
                                                const std::function<finding(unsigned i, progress& shared)>& work);

}  // namespace weft::sim
