// event_bsd.cc: descriptors that signal handlers make readable, by a queue with one user event: see
// caught_signals.h.
#include <sys/event.h>
#include <sys/types.h>
#include <unistd.h>

#include <cerrno>
#include <ctime>

#include "os/caught_signals.h"
#include "os/never_inlined.h"

namespace weft::detail::os {

namespace {

bool change(int queue, unsigned short flags, unsigned filter_flags) noexcept {
    struct kevent e{};
    EV_SET(&e, 0, EVFILT_USER, flags, filter_flags, 0, nullptr);
    return ::kevent(queue, &e, 1, nullptr, 0, nullptr) == 0;
}

}  // namespace

WEFT_OS_CALL int event_make() noexcept {
    const int queue = or_errno(::kqueue());
    if (queue < 0 || change(queue, EV_ADD | EV_CLEAR, 0)) return queue;
    const int error = errno;
    ::close(queue);
    return -error;
}

void event_set(int fd) noexcept { static_cast<void>(change(fd, 0, NOTE_TRIGGER)); }

// Fetching the event clears it.
void event_clear(int fd) noexcept {
    const timespec at_once{};
    struct kevent e{};
    static_cast<void>(::kevent(fd, nullptr, 0, &e, 1, &at_once));
}

}  // namespace weft::detail::os
