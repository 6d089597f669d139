// late_handlers.h: whether signal handlers may run later than the signal.
//
// ThreadSanitizer holds a signal back until the thread calls a function that it intercepts, and
// calls the handler there. A signal that comes during or shortly before another system call waits
// for the call's end. A thread that sleeps without a limit would never notice it. So sleeping
// threads use intercepted calls, or sleep only briefly at a time. Signals are not used to interrupt
// threads, or to ask where they are.
//
// Threads: any thread.
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
