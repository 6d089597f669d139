// caught_signals.h: signals that the program wants to hear of instead of being ended by them, and what was done about them before.
//
// For each signal, one of these:
//
//      as before ──catch──▶ caught ──release──▶ as before        our handler is in front
//          └──────ignore──▶ ignored ──release──▶ as before       there is none, and it does nothing
//
// A handler from before is called after ours, so that who has installed it hears of the signal as ever. A default action is not taken. Who
// installs a handler after us should call the one he replaces, and then cannot have ours taken away from under him: it stays, and while the
// signal is not caught does what would have been done without it.
//
// Who: catch, ignore, release: one thread at a time. The function that is called: a signal handler.
#pragma once

#include <cstdint>

namespace weft::detail::os {

inline constexpr int signals_max = 64;

// Why a signal cannot be caught; nullptr: it can. For people.
[[nodiscard]] const char* why_not_caught(int signal) noexcept;

// arrived, fit for a signal handler, is called with the signal's number whenever it comes. The same for all. Requires: it is as before, and
// can be caught. Returns 0 or an errno value.
[[nodiscard]] int catch_signal(int signal, void (*arrived)(int signal) noexcept) noexcept;

// Requires: it is as before, and can be caught. Returns 0 or an errno value.
[[nodiscard]] int ignore_signal(int signal) noexcept;

// It is as before. Also in the child of a fork.
void release_signal(int signal) noexcept;

// Whether it does nothing now, for whatever reason.
[[nodiscard]] bool signal_is_ignored(int signal) noexcept;

// ---- A descriptor that is readable after event_set, until event_clear. event_set is fit for a signal handler. Returns minus errno's value where
// there is none.
[[nodiscard]] int event_make() noexcept;
void event_set(int fd) noexcept;
void event_clear(int fd) noexcept;

}  // namespace weft::detail::os
