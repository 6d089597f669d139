// leak_scan.h: takes a copy of the process and searches it for leaked green threads.
//
// A search needs a state in which nothing moves. The program is stopped only for as long as it
// takes to copy its page tables, and the copy is searched:
//
//     1  A helper thread H, of this component, starts the process T, which shares all memory with
//        the program (CLONE_VM) but belongs to no thread group of it, so it may trace the threads.
//     2  T seizes each thread of the program but H with ptrace, interrupts it, waits until all have
//        stopped, and reads their registers.
//     3  T makes the process S by a fork without CLONE_VM: the copy. S has one thread, no locks of
//        it are held by any other, and it does not use those that are. See leak_search.h.
//     4  T lets all threads go on, then waits for S and ends. What S found lies in memory that it
//        shares with the program.
//
// The pause lasts from the first interrupt of step 2 to step 4. A thread that is traced restarts
// the system call in which it waits; epoll_wait and a few others return EINTR (signal(7)).
//
// T has the highest priority that the process may have, because the program stands still.
//
// T and S make system calls only: any lock of the C library may be held by a stopped thread. H does
// not stop, so it can end T if that takes too long; the threads then go on by themselves.
//
// Where tracing is refused (Yama, a debugger, seccomp), step 2 is left out. Then a pointer that
// only a register has is not seen, so leaks() reports only what a second scan finds, too.
//
// Rejected. A signal to each thread, whose handler waits: a system call that a handler interrupts
// returns EINTR far more often, and a thread may block the signal. fork() by the caller: it
// takes malloc's locks and runs the program's handlers. Scanning while the program is stopped, as
// LeakSanitizer does: a second for each GiB.
//
// Threads: any that may block. One scan at a time.
#pragma once

#include <cstdint>
#include <memory>

#include "observe/leak_search.h"

namespace weft::observe::detail {

struct scan_outcome {
    bool is_complete = false;
    bool has_registers = false;  // of all threads
    int error = 0;               // errno value of what failed first; 0: none
    int64_t pause_ns = 0;
    int64_t copy_ns = 0;  // of the pause: the fork
    int64_t copy_cpu_ns = 0;
    int64_t search_ns = 0;
};

// Memory for a scan, shared with its copies.
class leak_scan {
public:
    // Throws std::system_error.
    leak_scan();
    ~leak_scan();
    leak_scan(const leak_scan&) = delete;
    leak_scan& operator=(const leak_scan&) = delete;

    // Blocks. Throws std::system_error if no thread can be started.
    [[nodiscard]] scan_outcome run(int64_t time_limit_ns, bool stops_threads);

    [[nodiscard]] const search_result& result() const noexcept;

private:
    struct shared;

    shared* shared_;
};

}  // namespace weft::observe::detail
