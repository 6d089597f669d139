// os.h: the porting contract: what the operating system must provide.
//
// One file per system implements it (os_linux.cc, …), chosen by CMake. Functions that can fail for
// lack of resources return errno's value; nothing here throws. For tests, fail_nth_for_test() makes
// the n-th call of a kind fail.
//
// Threads: any thread unless said otherwise.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/atomic.h"

namespace weft::detail::os {

// ---- Time. Monotonic nanoseconds, the clock of futex deadlines and of std::chrono::steady_clock.
[[nodiscard]] int64_t monotonic_ns() noexcept;

// ---- Futex. Blocks while word == expected, until woken, until the absolute deadline (`never`: no
// deadline) has passed, or spuriously. Returns false only if the deadline has passed.
bool futex_wait(atomic<uint32_t>& word, uint32_t expected, int64_t deadline_ns) noexcept;

// Wakes one thread that waits on word. Uses only the address: the object may be gone, if the memory
// stays mapped.
void futex_wake_one(atomic<uint32_t>& word) noexcept;

// ---- Memory. Addresses and sizes in whole pages; reserve and map return nullptr on failure.
[[nodiscard]] std::size_t page_size() noexcept;

// Zeroed memory without cost until touched. sparse: the system does not count it and uses no huge
// pages.
[[nodiscard]] void* map_pages(std::size_t size, bool sparse) noexcept;

// Unmaps the pages. If the system refuses, it releases their content now, and the address space in
// a later call that maps or unmaps pages, or in unmap_kept_pages. Not in a signal handler: may
// allocate.
void unmap_pages(void* address, std::size_t size) noexcept;
void unmap_kept_pages() noexcept;
[[nodiscard]] std::size_t kept_pages_for_test() noexcept;  // in bytes; while no other thread unmaps

// Releases the content of the pages; they read as zero afterwards. Returns false if they are
// unchanged (locked in memory by mlockall).
bool discard_pages(void* address, std::size_t size) noexcept;

// Three ways to make accesses to [address, address + size) fault. Each may be refused.
// - guard_region costs no mapping (Linux 6.13).
// - write_protect, in a mapping for which allow_write_protect has succeeded, makes writes fault
//   with SIGBUS and costs no mapping.
// - protect_pages splits the mapping and so counts against the system's limit.
[[nodiscard]] bool guard_region(void* address, std::size_t size) noexcept;
[[nodiscard]] bool allow_write_protect(void* address, std::size_t size) noexcept;
[[nodiscard]] bool write_protect(void* address, std::size_t size) noexcept;
[[nodiscard]] bool protect_pages(void* address, std::size_t size) noexcept;

// ---- Threads.
using thread_id = unsigned long;

// Starts a thread that runs body(argument), and that blocks every signal that a program may want on
// its own threads. Returns 0 or an errno value. The thread must be joined.
[[nodiscard]] int start_thread(thread_id& id, void* (*body)(void*), void* argument) noexcept;

// The calling thread's name (cut at 15 bytes) and stack bounds. Returns 0, or an errno value with
// low and size unchanged: for a process's first thread it reads a file.
void name_thread(const char* name) noexcept;
int thread_stack_bounds(const void*& low, std::size_t& size) noexcept;
void join_thread(thread_id id) noexcept;

// The number of threads of the process; 0 if unknown. Reads a file: not for frequent use.
[[nodiscard]] unsigned thread_count() noexcept;

// f is called in the child of each later fork(), by its only thread. renew_heavy_fence: for that
// thread, before it uses heavy_fence.
void call_in_child_of_fork(void (*f)()) noexcept;
void renew_heavy_fence() noexcept;

// Instead of join_thread: the calling thread ends by itself, and no thread waits for that.
void detach_this_thread() noexcept;
[[nodiscard]] thread_id this_thread_id() noexcept;
[[nodiscard]] int current_tid() noexcept;  // as debuggers show it
void yield_thread() noexcept;
void sleep_ns(int64_t ns) noexcept;

// About another thread of this process, by tid. thread_cpu_ns: its used CPU time; -1 if it does not
// exist. thread_wants_cpu: whether it runs or is runnable; false if it sleeps, is stopped, or this
// is unknown.
[[nodiscard]] int64_t thread_cpu_ns(int tid) noexcept;
// thread_waited_ns: how long it was runnable without running; 0 if unknown.
[[nodiscard]] bool thread_wants_cpu(int tid) noexcept;
[[nodiscard]] int64_t thread_waited_ns(int tid) noexcept;

// Calls each(closure, tid) for every thread of the process, until one returns false. Returns false
// if the system does not list the threads.
bool for_each_thread(bool (*each)(void* closure, int tid) noexcept, void* closure) noexcept;

// Asks the kernel to let the thread preempt others soon after it wakes, in return for shorter
// slices, or to stop doing so. May be refused.
void want_short_slices(int tid, bool wanted) noexcept;
[[nodiscard]] bool wants_short_slices(int tid) noexcept;

// How many nanoseconds the kernel may round this thread's timeouts up; reads and changes it.
[[nodiscard]] int timeout_slack_ns() noexcept;
void set_timeout_slack_ns(int ns) noexcept;

// The smallest value.
inline constexpr int precise_timeouts = 1;

// Pauses for about one instruction inside a spin loop.
inline void cpu_relax() noexcept {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("isb" ::: "memory");
#else
    asm volatile("" ::: "memory");
#endif
}

// ---- Fences. heavy_fence makes every running thread of the process execute a full fence. With a
// compiler_fence on the other side it replaces two full fences where one side is hot and the other
// rare. Returns false if the system cannot (then the caller must not rely on compiler_fence).
[[nodiscard]] bool heavy_fence() noexcept;
[[nodiscard]] bool has_heavy_fence() noexcept;

// ---- CPUs that this process may use: the affinity mask, limited by the tightest cgroup CPU quota
// up to the root, rounded up. >= 1.
[[nodiscard]] unsigned usable_cpus() noexcept;

// ---- Environment. Each variable has two names, RUN_X and WEFT_X. The functions take the first;
// WEFT_X wins if both are set, and messages show the one that was read. An empty value means unset.
struct env_text {
    char name[32];     // the one that was read
    const char* text;  // nullptr: unset
};

[[nodiscard]] env_text read_env(const char* name) noexcept;

// The variable as a number in [low, high]; default_value if it is unset. If it is invalid,
// default_value and one line on stderr, once per variable. A value beyond high becomes high, also
// with one line.
[[nodiscard]] uint64_t env_number(const char* name, uint64_t low, uint64_t high, uint64_t default_value) noexcept;

// The same for a time: a decimal number, optionally with a fraction, and a unit ns, us, ms or s;
// without a unit it is in milliseconds.
[[nodiscard]] int64_t env_time_ns(const char* name, int64_t low_ns, int64_t high_ns, int64_t default_ns) noexcept;

// The variable as an index into a list of words; default_index if it is unset. An invalid value
// gives one line.
[[nodiscard]] unsigned env_word(const char* name, std::span<const char* const> words, unsigned default_index) noexcept;

// ---- Output of reports: all of the text, or as much as the descriptor accepts. Async-signal-safe.
inline constexpr int stderr_fd = 2;
void write_all(int fd, const char* text, std::size_t size) noexcept;

// ---- Fault injection, for tests: the n-th next call of that kind fails (0: no call fails).
enum class failure { map, thread, commit, unmap };
void fail_nth_for_test(failure kind, int n) noexcept;

// From now on every commit fails.
void fail_all_commits_for_test() noexcept;

// Whether this call must fail.
[[nodiscard]] bool injected_failure(failure kind) noexcept;

}  // namespace weft::detail::os
