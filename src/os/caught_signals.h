// caught_signals.h: catches signals for the program, and restores their previous action.
//
//      as before ──catch──▶ caught ──release──▶ as before        our handler is in front
//          └──────ignore──▶ ignored ──release──▶ as before       no handler, no effect
//
// Handlers that are installed earlier or later: docs/signals.md.
//
// Threads: catch, ignore, release: one thread at a time.
#pragma once

#include <cstdint>

namespace weft::detail::os {

inline constexpr int signals_max = 64;

// Returns nullptr if the signal can be caught.
[[nodiscard]] const char* why_not_caught(int signal) noexcept;

// arrived must be async-signal-safe, and the same function for all signals. Requires: the signal is
// as before, and can be caught. Returns 0 or an errno value.
[[nodiscard]] int catch_signal(int signal, void (*arrived)(int signal) noexcept) noexcept;

// Requires and returns the same.
[[nodiscard]] int ignore_signal(int signal) noexcept;

// Restores the previous action. Also in the child of a fork.
void release_signal(int signal) noexcept;

// Whether its action is SIG_IGN, also one that we have not set.
[[nodiscard]] bool signal_is_ignored(int signal) noexcept;

// ---- A descriptor that is readable from event_set to event_clear. event_set is async-signal-safe.
// event_make returns minus errno's value on failure.
[[nodiscard]] int event_make() noexcept;
void event_set(int fd) noexcept;
void event_clear(int fd) noexcept;

}  // namespace weft::detail::os
