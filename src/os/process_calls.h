// process_calls.h: system calls on pipes and other processes.
//
// As in fd_calls.h, each returns the system call's result, or minus errno's value.
//
// Threads: any thread.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>

namespace weft::detail::os {

// ---- Pipes. Programs inherit neither end. Ends have numbers from 3 on, above standard
// descriptors.
[[nodiscard]] int pipe_make(int& read_end, int& write_end) noexcept;
[[nodiscard]] ssize_t pipe_read(int fd, void* into, std::size_t size) noexcept;

// Returns -EPIPE without a SIGPIPE, not even a pending one.
[[nodiscard]] ssize_t pipe_write(int fd, const void* from, std::size_t size) noexcept;

// Whether a read returns at once, after at most ns.
[[nodiscard]] bool pipe_await(int fd, int64_t ns) noexcept;
void pipe_close(int fd) noexcept;

// ---- Processes.

[[nodiscard]] int process_number() noexcept;  // of this one

inline constexpr int std_inherited = -1;
inline constexpr int std_null = -2;

enum class group_kind : uint8_t { inherited, own, own_session };

struct passed_fd {
    int fd;
    int number;      // in the program
    int moved = -1;  // for the child
};

enum class limited : uint8_t {
    address_space,
    core_size,
    cpu_time,
    data_size,
    file_size,
    locked_memory,
    open_files,
    processes,
    stack_size,
};

struct limit_request {
    limited what;
    uint64_t soft;  // UINT64_MAX: unlimited
    uint64_t hard;
};

// What the new process sets before it executes the program, if can_set_up_programs().
struct program_set_up {
    passed_fd* descriptors = nullptr;  // writable by the child
    std::size_t descriptor_count = 0;
    bool has_nice = false;
    int nice = 0;
    const limit_request* limits = nullptr;
    std::size_t limit_count = 0;
    bool has_user = false;
    uint32_t user = 0;
    uint32_t group = 0;
    const uint32_t* further_groups = nullptr;
    std::size_t further_group_count = 0;
};

[[nodiscard]] bool can_set_up_programs() noexcept;

struct spawn_request {
    char* const* arguments;    // ends with nullptr; the first is the program, unless that is given
    char* const* environment;  // the same; nullptr: that of this process
    const char* directory;     // nullptr: that of this process
    int standard[3];           // open descriptors, or one of the above
    group_kind group;
    const char* program = nullptr;  // the file to execute
    const program_set_up* set_up = nullptr;
};

// Blocks until the program has begun, with default actions and no signal blocked (spawn_linux.cc).
//
// descriptor becomes readable when the child has ended, however soon; -1: the system has none
// (before Linux 5.4).
[[nodiscard]] int process_spawn(const spawn_request& r, int& pid, int& descriptor) noexcept;

// As process_spawn, but the program is not a child of this process, unless this one adopts orphans:
// its end causes no SIGCHLD, and wait() does not return it.
[[nodiscard]] int process_spawn_apart(const spawn_request& r) noexcept;

struct process_end {
    int code;
    int signal;
    bool core_dumped;
};

// For a process that this library has started from the program's own file. Closes the descriptors
// from 3 on, which keep sockets of the program open. Limits its CPU time. It then leaves no core
// file, and ends first if memory is scarce.
void limit_own_process(int cpu_seconds) noexcept;

// They use the descriptor, or, if that is -1, the number.
// - process_look: -EAGAIN: it still runs; -ECHILD: the system has forgotten how it has ended.
// - process_recall: how it has ended although that was forgotten. Needs the descriptor. -EBUSY: it
//   has ended, but the system does not tell yet.
// - process_reap: makes the system forget it.
[[nodiscard]] int process_look(int fd, int pid, process_end& e) noexcept;
[[nodiscard]] int process_recall(int fd, process_end& e) noexcept;
void process_reap(int fd, int pid) noexcept;
[[nodiscard]] int process_signal(int fd, int pid, int signal) noexcept;

// SIGKILL, with its number on all systems that have it. Windows has no signal of that name.
inline constexpr int kill_signal = 9;

// Signals the group that a child leads: by its descriptor if the system can (Linux 6.9) and permits
// it, else by the number leader (0: no longer the child's). -ESRCH: the group has no process; a
// zombie leader counts as one.
[[nodiscard]] int group_signal(int fd, int leader, int signal) noexcept;

// ---- Many processes behind one descriptor, which is readable when one has ended.
[[nodiscard]] int children_make() noexcept;
[[nodiscard]] int children_add(int children, int fd) noexcept;

// Gives the descriptor of an ended process to one caller only; -1: no other has ended.
[[nodiscard]] int children_next(int children) noexcept;

}  // namespace weft::detail::os
