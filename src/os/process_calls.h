// process_calls.h: system calls on pipes and other processes.
//
// As file_calls.h: each returns what the system call returns, or minus errno's value, and is never inlined.
//
// Who: any thread.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>

namespace weft::detail::os {

// ---- Pipes. Neither end is inherited by programs, nor has a number below 3, where a program's standard descriptors are.
[[nodiscard]] int pipe_make(int& read_end, int& write_end) noexcept;
[[nodiscard]] ssize_t pipe_read(int fd, void* into, std::size_t size) noexcept;

// No SIGPIPE comes, and none stays behind: -EPIPE.
[[nodiscard]] ssize_t pipe_write(int fd, const void* from, std::size_t size) noexcept;

// ---- Processes.

// A standard descriptor of a program that is started.
inline constexpr int std_inherited = -1;
inline constexpr int std_null = -2;

// The process group of a program that is started.
enum class group_kind : uint8_t { inherited, own, own_session };

struct spawn_request {
    char* const* arguments;    // ends with nullptr; the first is the program
    char* const* environment;  // ends with nullptr; nullptr: that of this process
    const char* directory;     // nullptr: that of this process
    int standard[3];           // open descriptors, or one of the above
    group_kind group;
};

// Starts it, with signals as usual: none blocked, all with their default actions. Blocks until it has begun. Returns 0, or minus errno's value.
// descriptor: stands for the child, and is readable when it has ended; it is made together with the child, so that a child that has ended at
// once has one, too. -1: the system has none (before Linux 5.4). In spawn_linux.cc.
[[nodiscard]] int process_spawn(const spawn_request& r, int& pid, int& descriptor) noexcept;

// How a process has ended.
struct process_end {
    int code;
    int signal;
    bool core_dumped;
};

// By its descriptor, or, if that is -1, by its number. process_look: how it has ended, without forgetting it; -EAGAIN: it has not;
// -ECHILD: the system has forgotten it. process_recall: how it has ended although that was forgotten; needs the descriptor. -EBUSY: it has ended, and
// the system does not tell yet: between the two moments the process is gone for waitid, and still there for this call.
// process_reap: forgets it.
[[nodiscard]] int process_look(int fd, int pid, process_end& e) noexcept;
[[nodiscard]] int process_recall(int fd, process_end& e) noexcept;
void process_reap(int fd, int pid) noexcept;
[[nodiscard]] int process_signal(int fd, int pid, int signal) noexcept;

// To all processes of the group that a child leads: by the child's descriptor where the system can do so (Linux 6.9) and permits it, else by the
// number leader; 0: that is not the child's any more. -ESRCH: there is no process in the group. A leader that is a zombie is one.
[[nodiscard]] int group_signal(int fd, int leader, int signal) noexcept;

// ---- Many processes behind one descriptor, which is readable when one of them has ended.
[[nodiscard]] int children_make() noexcept;
[[nodiscard]] int children_add(int children, int fd) noexcept;

// The descriptor of one that has ended, to whoever asks first; -1: none has.
[[nodiscard]] int children_next(int children) noexcept;

}  // namespace weft::detail::os
