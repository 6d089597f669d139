// process_calls.h: system calls on pipes and other processes.
//
// As in file_calls.h, each returns the system call's result, or minus errno's value, and is never
// inlined.
//
// Threads: any thread.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>

namespace weft::detail::os {

// ---- Pipes. Programs inherit neither end, and no end has a number below 3, where a program's
// standard descriptors are.
[[nodiscard]] int pipe_make(int& read_end, int& write_end) noexcept;
[[nodiscard]] ssize_t pipe_read(int fd, void* into, std::size_t size) noexcept;

// Returns -EPIPE without a SIGPIPE, not even a pending one.
[[nodiscard]] ssize_t pipe_write(int fd, const void* from, std::size_t size) noexcept;

// ---- Processes.

// A standard descriptor of a started program.
inline constexpr int std_inherited = -1;
inline constexpr int std_null = -2;

// The process group of a started program.
enum class group_kind : uint8_t { inherited, own, own_session };

struct spawn_request {
    char* const* arguments;    // ends with nullptr; the first is the program
    char* const* environment;  // ends with nullptr; nullptr: that of this process
    const char* directory;     // nullptr: that of this process
    int standard[3];           // open descriptors, or one of the above
    group_kind group;
};

// Starts the program, with default signal handling: none blocked, all with default actions. Blocks
// until the program has begun. Returns 0, or minus errno's value.
//
// descriptor refers to the child and is readable when it has ended. It is made together with the
// child, so that a child that ends at once has one, too. -1: the system has none (before Linux
// 5.4). In spawn_linux.cc.
[[nodiscard]] int process_spawn(const spawn_request& r, int& pid, int& descriptor) noexcept;

// How a process has ended.
struct process_end {
    int code;
    int signal;
    bool core_dumped;
};

// By its descriptor, or, if that is -1, by its number.
// - process_look: how it has ended, without forgetting it; -EAGAIN: it still runs; -ECHILD: the
//   system has forgotten it.
// - process_recall: how it has ended although that was forgotten; needs the descriptor. -EBUSY: it
//   has ended, and the system does not tell yet. Between two moments the process is gone for waitid
//   and still exists for this call.
// - process_reap: forgets it.
[[nodiscard]] int process_look(int fd, int pid, process_end& e) noexcept;
[[nodiscard]] int process_recall(int fd, process_end& e) noexcept;
void process_reap(int fd, int pid) noexcept;
[[nodiscard]] int process_signal(int fd, int pid, int signal) noexcept;

// Signals all processes of the group that a child leads. Uses the child's descriptor if the system
// can (Linux 6.9) and permits it, else the number leader; 0: the number is no longer the child's.
// -ESRCH: the group has no process. A zombie leader counts as one.
[[nodiscard]] int group_signal(int fd, int leader, int signal) noexcept;

// ---- Many processes behind one descriptor, which is readable when one of them has ended.
[[nodiscard]] int children_make() noexcept;
[[nodiscard]] int children_add(int children, int fd) noexcept;

// The descriptor of a process that has ended, given to one caller only; -1: no process has ended.
[[nodiscard]] int children_next(int children) noexcept;

}  // namespace weft::detail::os
