// late_handlers.h: whether signal handlers may run later than the signal.
//
// ThreadSanitizer calls a handler only when the thread next calls a function that it intercepts. So
// sleeping threads use such functions, or sleep briefly, and no signal is used to interrupt threads
// or to ask where they are.
//
// Threads: any thread. See: docs/sanitizers.md
#pragma once

namespace weft::detail::os {

#if defined(__SANITIZE_THREAD__)
inline constexpr bool handlers_come_late = true;
#elif defined(__has_feature)
inline constexpr bool handlers_come_late = __has_feature(thread_sanitizer);
#else
inline constexpr bool handlers_come_late = false;
#endif

}  // namespace weft::detail::os
