// caught_signals.h: catches signals for the program, and restores what was done about them before.
//
// The states of a signal:
//
//      as before ──catch──▶ caught ──release──▶ as before        our handler is in front
//          └──────ignore──▶ ignored ──release──▶ as before       no handler, no effect
//
// An earlier handler is called after ours, so its owner still receives the signal. A default action
// is not taken. Code that installs a handler after us should call the one it replaces. Ours then
// stays installed, and while the signal is not caught it does what would have happened without it.
//
// Threads: catch, ignore, release: one thread at a time. The called function: a signal handler.
#pragma once

#include <cstdint>

namespace weft::detail::os {

inline constexpr int signals_max = 64;

// Why a signal cannot be caught, as text; nullptr if it can.
[[nodiscard]] const char* why_not_caught(int signal) noexcept;

// From now on arrived is called with the signal's number whenever the signal comes. arrived must be
// async-signal-safe, and the same function for all signals. Requires: the signal is as before, and
// can be caught. Returns 0 or an errno value.
[[nodiscard]] int catch_signal(int signal, void (*arrived)(int signal) noexcept) noexcept;

// Requires: the signal is as before, and can be caught. Returns 0 or an errno value.
[[nodiscard]] int ignore_signal(int signal) noexcept;

// Restores the state as before. Also in the child of a fork.
void release_signal(int signal) noexcept;

// Whether the signal currently has no effect, for whatever reason.
[[nodiscard]] bool signal_is_ignored(int signal) noexcept;

// ---- A descriptor that is readable after event_set, until event_clear. event_set is
// async-signal-safe. event_make returns minus errno's value on failure.
[[nodiscard]] int event_make() noexcept;
void event_set(int fd) noexcept;
void event_clear(int fd) noexcept;

}  // namespace weft::detail::os
