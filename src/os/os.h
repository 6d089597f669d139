// os.h: the porting contract: what the operating system must provide.
//
// One file per system implements it, chosen by CMake. Functions that can fail return errno's value
// unless stated otherwise; none throws.
//
// Threads: any thread unless stated otherwise.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/atomic.h"
#include "os/fault_injection.h"

namespace weft::detail::os {

// ---- Time. The clock of futex deadlines and of std::chrono::steady_clock.
[[nodiscard]] int64_t monotonic_ns() noexcept;

// ---- Futex. Blocks while word == expected, until woken, until the absolute deadline (`never`: no
// deadline), or spuriously. Returns false only if the deadline has passed.
bool futex_wait(atomic<uint32_t>& word, uint32_t expected, int64_t deadline_ns) noexcept;

// Uses only the address: the object may be gone if its memory stays mapped.
void futex_wake_one(atomic<uint32_t>& word) noexcept;

// ---- Memory. Addresses and sizes in whole pages.
[[nodiscard]] std::size_t page_size() noexcept;

// Returns zeroed memory without huge pages, or nullptr. sparse: the system does not count it before
// it is touched.
[[nodiscard]] void* map_pages(std::size_t size, bool sparse) noexcept;

// If the system refuses, releases only the content, and the address space in a later call
// (unmap_posix.cc). May allocate, so not in a signal handler.
void unmap_pages(void* address, std::size_t size) noexcept;
void unmap_kept_pages() noexcept;
[[nodiscard]] std::size_t kept_pages_for_test() noexcept;  // in bytes; while no other thread unmaps

// The pages then read as zero. Returns false if they are unchanged (mlockall).
bool discard_pages(void* address, std::size_t size) noexcept;

// The same for pages that other threads may read meanwhile: these read the old content or zeros.
bool discard_read_pages(void* address, std::size_t size) noexcept;

// Make accesses to [address, address + size) fault, or return false (docs/stacks.md, Guards).
// write_protect lets reads pass, and needs allow_write_protect for its mapping.
[[nodiscard]] bool guard_region(void* address, std::size_t size) noexcept;
[[nodiscard]] bool allow_write_protect(void* address, std::size_t size) noexcept;
[[nodiscard]] bool write_protect(void* address, std::size_t size) noexcept;
[[nodiscard]] bool protect_pages(void* address, std::size_t size) noexcept;

// ---- Threads.
using thread_id = uintptr_t;

// The thread blocks every signal that a program may want on its own threads. It must be joined or
// detach itself.
[[nodiscard]] int start_thread(thread_id& id, void* (*body)(void*), void* argument) noexcept;

// For the calling thread. Cuts the name at 15 bytes. On an error, low and size are unchanged: the
// bounds of a process's first thread come from a file.
void name_thread(const char* name) noexcept;
int thread_stack_bounds(const void*& low, std::size_t& size) noexcept;
void join_thread(thread_id id) noexcept;

// Reads a file. Returns 0 if that fails.
[[nodiscard]] unsigned thread_count() noexcept;

// f is called in the child of each later fork(), by its only thread, which must call
// renew_heavy_fence before heavy_fence.
void call_in_child_of_fork(void (*f)()) noexcept;
void renew_heavy_fence() noexcept;

// Replaces join_thread: the calling thread ends by itself.
void detach_this_thread() noexcept;
[[nodiscard]] thread_id this_thread_id() noexcept;
[[nodiscard]] int current_tid() noexcept;  // as debuggers show it
void yield_thread() noexcept;
void sleep_ns(int64_t ns) noexcept;

// About a thread of this process. They return -1, false and 0 if it does not exist or the answer is
// unknown. thread_wants_cpu: it runs or is runnable; thread_waited_ns: how long it was runnable
// without running.
[[nodiscard]] int64_t thread_cpu_ns(int tid) noexcept;
[[nodiscard]] bool thread_wants_cpu(int tid) noexcept;
[[nodiscard]] int64_t thread_waited_ns(int tid) noexcept;

// Stops when each returns false. Returns false if the system does not list the threads.
bool for_each_thread(bool (*each)(void* closure, int tid) noexcept, void* closure) noexcept;

// A thread with short slices preempts others soon after it wakes. May be refused.
void want_short_slices(int tid, bool wanted) noexcept;
[[nodiscard]] bool wants_short_slices(int tid) noexcept;

// How far the kernel may round up the calling thread's timeouts.
[[nodiscard]] int timeout_slack_ns() noexcept;
void set_timeout_slack_ns(int ns) noexcept;

// The smallest value.
inline constexpr int precise_timeouts = 1;

inline void cpu_relax() noexcept {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("isb" ::: "memory");
#elif defined(__riscv)
    asm volatile(".4byte 0x0100000f" ::: "memory");  // pause: no effect on processors without Zihintpause
#else
    asm volatile("" ::: "memory");
#endif
}

// ---- Fences (docs/memory_order.md). heavy_fence makes every running thread of the process execute
// a full fence. Returns false on failure: then a compiler_fence elsewhere does not suffice.
[[nodiscard]] bool heavy_fence() noexcept;
[[nodiscard]] bool has_heavy_fence() noexcept;

// ---- CPUs that this process may use, >= 1: see cpus_linux.cc.
[[nodiscard]] unsigned usable_cpus() noexcept;

// ---- Environment (docs/environment.md). name is RUN_X; the variable WEFT_X wins over it. An empty
// value means unset. An invalid one causes a line on stderr.
struct env_text {
    char name[32];     // the one that was read
    const char* text;  // nullptr: unset
};

[[nodiscard]] env_text read_env(const char* name) noexcept;

// Returns a number in [low, high]: high for a larger value, default_value for any other invalid
// one.
[[nodiscard]] uint64_t env_number(const char* name, uint64_t low, uint64_t high, uint64_t default_value) noexcept;

// The same for a time with an optional unit; without one in milliseconds.
[[nodiscard]] int64_t env_time_ns(const char* name, int64_t low_ns, int64_t high_ns, int64_t default_ns) noexcept;

// Returns the index of the variable's value in words.
[[nodiscard]] unsigned env_word(const char* name, std::span<const char* const> words, unsigned default_index) noexcept;

// ---- Reports. Writes as much of the text as fd accepts. Async-signal-safe.
inline constexpr int stderr_fd = 2;
void write_all(int fd, const char* text, std::size_t size) noexcept;

}  // namespace weft::detail::os
