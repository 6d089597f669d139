// turns.h: which thread has the turn (stepped.h).
//
// Threads: those below. All state belongs to the thread that has the turn. Others, and handlers of
// signals that interrupt these functions, do not step.
#pragma once

#include <cstdint>

namespace stepped {

enum class waits_for : uint8_t { nothing, word, time, thread, events, end };

// Why a wait ended.
enum class why : uint8_t { served, time };

inline constexpr int64_t for_ever = INT64_MAX;

struct controlled;

// For the calling thread; nullptr if it is not controlled.
[[nodiscard]] controlled* self() noexcept;

// The calling process has one controlled thread from here on, the caller.
void begin_turns(uint64_t seed, uint64_t most_steps, int64_t most_ns, unsigned spurious);
[[nodiscard]] uint64_t steps_so_far() noexcept;
[[nodiscard]] int64_t virtual_ns() noexcept;

// A new thread calls start_turns(add_thread()'s) first, and waits there for its first turn.
[[nodiscard]] controlled* add_thread() noexcept;
void remove_thread(controlled* t) noexcept;  // it could not be started
void start_turns(controlled* t) noexcept;
void set_handle(controlled* t, uintptr_t pthread) noexcept;
[[nodiscard]] controlled* find_by_handle(uintptr_t pthread) noexcept;
[[nodiscard]] controlled* find_by_tid(int tid) noexcept;

// The CPU time of t, and whether it could run.
[[nodiscard]] int64_t cpu_ns(const controlled& t) noexcept;
[[nodiscard]] bool could_run(const controlled& t) noexcept;

// The caller lets another thread run if there is one.
void give_turn() noexcept;

// deadline_ns is the virtual time at which the wait ends at the latest.
why wait_for_time(int64_t deadline_ns) noexcept;
why wait_for_word(const void* word, int64_t deadline_ns) noexcept;
why wait_for_thread(controlled& t) noexcept;
why wait_for_events(int fd, int64_t deadline_ns) noexcept;  // until poll() finds fd readable
unsigned serve_word(const void* word, unsigned most) noexcept;

void compute_for(int64_t ns) noexcept;
[[nodiscard]] unsigned random_below(unsigned n) noexcept;

// True in some of 1000 calls, as options::spurious says.
[[nodiscard]] bool ends_without_reason() noexcept;

// Prints what and the last steps, and ends the process.
[[noreturn]] void fail(const char* what) noexcept;

}  // namespace stepped
