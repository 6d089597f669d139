// late_handlers.h: whether signals may come later than they come.
//
// ThreadSanitizer keeps a signal until the thread calls a function that it knows, and calls the handler there. What comes in a system call
// that it does not know, or shortly before, waits for the call's end: a thread that sleeps without end would never hear of it. So whoever
// sleeps uses calls that it knows, or does not sleep long at a time; and nobody is interrupted by a signal, or asked by one where it is.
//
// Who: anyone.
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
