// os.h: what the operating system must supply: the porting contract.
//
// One file per system implements it (os_linux.cc, …), chosen by CMake. Functions that can fail for want of resources say so by
// their result, with errno's value; nothing here throws. For tests, fail_nth() makes the n-th call of a kind fail.
//
// Who: any thread unless said otherwise.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/atomic.h"

namespace weft::detail::os {

// ---- Time. Monotonic nanoseconds, the clock of futex deadlines and of std::chrono::steady_clock.
[[nodiscard]] int64_t monotonic_ns() noexcept;

// ---- Futex. Blocks while word == expected until woken, the absolute deadline passes (never: none), or for no reason.
// Returns false only if the deadline has passed.
bool futex_wait(atomic<uint32_t>& word, uint32_t expected, int64_t deadline_ns) noexcept;

// Wakes one thread that waits on word. Only the address is used: the memory may be gone already, if it stays mapped.
void futex_wake_one(atomic<uint32_t>& word) noexcept;

// ---- Memory. Addresses and sizes in whole pages; reserve and map return nullptr on failure.
[[nodiscard]] std::size_t page_size() noexcept;

// Zeroed memory that costs nothing until touched; sparse tells the system not to count it and not to use huge pages.
[[nodiscard]] void* map_pages(std::size_t size, bool sparse) noexcept;

// Unmaps the pages. If the system refuses, their content goes back to it now, and the address space in a later call that maps or unmaps
// pages, or in unmap_kept_pages. Not in a signal handler: may allocate.
void unmap_pages(void* address, std::size_t size) noexcept;
void unmap_kept_pages() noexcept;
[[nodiscard]] std::size_t kept_pages_for_test() noexcept;  // in bytes; while no other thread unmaps

// Gives the content of the pages back; they read as zero afterwards. False: they are what they were (locked in memory by mlockall).
bool discard_pages(void* address, std::size_t size) noexcept;

// Makes accesses to [address, address + size) fault. guard_region costs no mapping (Linux 6.13). write_protect, in a mapping for
// which allow_write_protect has succeeded, makes writes fault with SIGBUS and costs none either. protect_pages splits the mapping
// and so counts against the system's limit. Each may be refused.
[[nodiscard]] bool guard_region(void* address, std::size_t size) noexcept;
[[nodiscard]] bool allow_write_protect(void* address, std::size_t size) noexcept;
[[nodiscard]] bool write_protect(void* address, std::size_t size) noexcept;
[[nodiscard]] bool protect_pages(void* address, std::size_t size) noexcept;

// ---- Threads.
using thread_id = unsigned long;

// Starts a thread that runs body(argument), with every signal blocked that a program may want on its own threads. Returns 0 or
// an errno value. To be joined.
[[nodiscard]] int start_thread(thread_id& id, void* (*body)(void*), void* argument) noexcept;

// The calling thread: its name (cut at 15 bytes), and the bounds of its stack. Returns 0, or an errno value and leaves both alone: the first
// thread of a process reads a file for that.
void name_thread(const char* name) noexcept;
int thread_stack_bounds(const void*& low, std::size_t& size) noexcept;
void join_thread(thread_id id) noexcept;

// How many threads the process has; 0 if nobody knows. For rare questions: reads a file.
[[nodiscard]] unsigned thread_count() noexcept;

// f is called in the child of each fork() from now on, by its only thread. renew_heavy_fence: for that one, before it fences.
void call_in_child_of_fork(void (*f)()) noexcept;
void renew_heavy_fence() noexcept;

// Instead of join_thread: the calling thread ends by itself, and nobody waits for that.
void detach_this_thread() noexcept;
[[nodiscard]] thread_id this_thread_id() noexcept;
[[nodiscard]] int current_tid() noexcept;  // as debuggers show it
void yield_thread() noexcept;
void sleep_ns(int64_t ns) noexcept;

// Another thread of this process, by its tid. thread_cpu_ns: how much CPU time it has used; -1 if there is no such thread.
// thread_wants_cpu: whether it runs or would like to; false if it sleeps, is stopped, or nobody knows.
[[nodiscard]] int64_t thread_cpu_ns(int tid) noexcept;
// thread_waited_ns: how long it has wanted to run and did not; 0 if nobody knows.
[[nodiscard]] bool thread_wants_cpu(int tid) noexcept;
[[nodiscard]] int64_t thread_waited_ns(int tid) noexcept;

// Calls each(closure, tid) for every thread of the process, until one returns false. False: the system does not say which there are.
bool for_each_thread(bool (*each)(void* closure, int tid) noexcept, void* closure) noexcept;

// Asks the kernel to let the thread preempt others soon when it wakes, for which it runs for a shorter time at once; or not any more.
// May be refused.
void want_short_slices(int tid, bool wanted) noexcept;
[[nodiscard]] bool wants_short_slices(int tid) noexcept;

// By how many nanoseconds the kernel may round this thread's timeouts up; and the same, to be changed.
[[nodiscard]] int timeout_slack_ns() noexcept;
void set_timeout_slack_ns(int ns) noexcept;

// The least there is.
inline constexpr int precise_timeouts = 1;

// One instruction's worth of waiting inside a spin loop.
inline void cpu_relax() noexcept {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("isb" ::: "memory");
#else
    asm volatile("" ::: "memory");
#endif
}

// ---- Fences. heavy_fence makes every running thread of the process pass a full fence: with a compiler_fence on the other
// side it replaces two full fences where one side is hot and the other rare. Returns false where the system cannot (then
// the caller must not rely on compiler_fence).
[[nodiscard]] bool heavy_fence() noexcept;
[[nodiscard]] bool has_heavy_fence() noexcept;

// ---- Processors this process may use: affinity mask and the tightest cgroup CPU quota on the way to the root, rounded up. >= 1.
[[nodiscard]] unsigned usable_cpus() noexcept;

// ---- Environment. The variable as a number in [low, high]; default_value if it is unset. Anything else is answered by one
// line on stderr, once per variable, and default_value; a value beyond high becomes high, with one line too.
[[nodiscard]] bool env_is_set(const char* name) noexcept;
[[nodiscard]] uint64_t env_number(const char* name, uint64_t low, uint64_t high, uint64_t default_value) noexcept;

// The same for a time: a decimal number, with a fraction or without, and ns, us, ms or s after it; without a unit it is milliseconds.
[[nodiscard]] int64_t env_time_ns(const char* name, int64_t low_ns, int64_t high_ns, int64_t default_ns) noexcept;

// The variable as one of a list of words, by its index; default_index if it is unset. Anything else is answered by one line.
[[nodiscard]] unsigned env_word(const char* name, std::span<const char* const> words, unsigned default_index) noexcept;

// ---- Output of reports: all of it, or as much as the descriptor takes. Safe in a signal handler.
inline constexpr int stderr_fd = 2;
void write_all(int fd, const char* text, std::size_t size) noexcept;

// ---- Fault injection, for tests: the n-th next call of that kind fails (0: none does).
enum class failure { map, thread, commit, unmap };
void fail_nth_for_test(failure kind, int n) noexcept;

// From now on every commit fails.
void fail_all_commits_for_test() noexcept;

// Whether this call is the one that is to fail.
[[nodiscard]] bool injected_failure(failure kind) noexcept;

}  // namespace weft::detail::os
