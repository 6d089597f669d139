// leak_search.h: which green threads nothing can wake, found in a copy of the process.
//
// A green thread that waits runs again only if another thread gets at what it waits for: the
// channel, the mutex, the scope that may be cancelled. That takes a pointer to it, in memory that a
// thread can reach. So the search is the mark phase of a conservative garbage collector, with the
// difference that the stack of a waiting green thread is no root:
//
//     1  Roots: writable memory of all loaded objects; memory of the program that is not from
//        malloc; registers, stacks and thread-local storage of all OS threads; stacks and closures
//        of green threads that run, are runnable, are in a call, or wait for something from
//        outside the process.
//     2  A word of reachable memory that is an address in a block of malloc makes the block
//        reachable. Addresses inside a block count.
//     3  A word of reachable memory that is an address in the live part of the stack of a waiting
//        green thread, or in its closure, makes the green thread reachable: its stack, its closure
//        and what else belongs to it are then scanned like a root.
//     4  What waits and was not reached when nothing is left to scan has leaked.
//
// Step 3 needs no knowledge of the kinds of objects. A waiter lies on the stack of the green thread
// that waits (wait.h), and the object's queue links it. So a reachable object leads to those that
// wait for it. A context that may be cancelled, and a timer, are linked in the same way.
//
// What would make every green thread reachable is left out. The runtime finds its green threads by
// their G, so an address of a G does not count, nor does the record of a stack. Gs and stacks lie
// in mappings of the pools, which are no roots. These are not scanned either:
//
//     - the state of a runtime but its timers, and Ms, which have the lock that was released last
//     - recorded events; free blocks of malloc, which it keeps for threads or in lists
//     - the part of a stack below the stack pointer, and stacks of threads that have ended
//     - registers and g0 of idle Ms: what is there are registers of Gs that have run on them
//
// A conservative search errs on one side: a number that looks like an address, or a pointer that is
// no longer used, hides a leak. A wrong report needs a pointer that is kept in another form than as
// an aligned word: XOR-linked, compressed, in the high half of a vector register, or in memory that
// a device or another process shares.
//
// Invariants: I1. Nothing allocates from malloc, locks, or calls code of the program.
// Threads:    one, in the child of a fork, which has no other.
// See:        docs/leaks.md
#pragma once

#include <cstddef>
#include <cstdint>

namespace weft::detail {
struct G;
struct scheduler;
}  // namespace weft::detail

namespace weft::observe::detail {

struct address_range {
    uintptr_t low = 0;
    uintptr_t high = 0;

    [[nodiscard]] bool holds(uintptr_t address) const noexcept { return address >= low && address < high; }
};

// An OS thread, as the copy finds it.
struct stopped_thread {
    static constexpr std::size_t words_max = 128;

    int tid = 0;
    bool in_system_call = false;
    bool has_ended = false;
    bool is_known = false;  // else its registers could not be read
    uintptr_t stack_pointer = 0;
    uintptr_t thread_pointer = 0;
    std::size_t words = 0;
    uintptr_t registers[words_max];
};

struct unwoken {
    const weft::detail::scheduler* home = nullptr;
    uint64_t id = 0;
};

enum class search_error : uint8_t { none, no_memory, no_memory_map, unknown };

// In memory that the process shares with its copy.
struct search_result {
    static constexpr std::size_t threads_max = 4096;
    static constexpr std::size_t found_max = std::size_t{1} << 20;

    // Before the search.
    std::size_t thread_count = 0;
    stopped_thread threads[threads_max];
    std::size_t thread_locals_size = 0;  // of each thread, below its thread pointer; 0: unknown
    address_range not_scanned[4];        // memory of the search itself

    // After it.
    bool is_complete = false;
    search_error error = search_error::unknown;
    uint64_t live = 0;        // green threads
    uint64_t waiting = 0;     // those that could leak
    uint64_t heap_bytes = 0;  // of malloc
    uint64_t heap_blocks = 0;
    uint64_t blocks_reached = 0;
    uint64_t root_bytes = 0;   // scanned from the start
    uint64_t other_bytes = 0;  // of these: memory of unknown owner, which is always reachable
    uint64_t scanned_bytes = 0;
    std::size_t found_count = 0;  // may be more than found has room for
    unwoken found[found_max];
};

void search_for_leaks(search_result& into) noexcept;

}  // namespace weft::observe::detail
