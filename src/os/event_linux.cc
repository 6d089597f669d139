// event_linux.cc: descriptors that signal handlers make readable: see caught_signals.h.
#include <sys/eventfd.h>
#include <unistd.h>

#include <cstdint>

#include "os/caught_signals.h"
#include "os/fault_injection.h"
#include "os/never_inlined.h"

namespace weft::detail::os {

WEFT_OS_CALL int event_make() noexcept {
    if (const int error = injected_failure(failure::event); error != 0) return -error;
    return or_errno(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
}

void event_set(int fd) noexcept {
    const uint64_t one = 1;
    static_cast<void>(::write(fd, &one, sizeof(one)) == 0);  // if it fails, the descriptor is already readable
}

void event_clear(int fd) noexcept {
    uint64_t ignored = 0;
    static_cast<void>(::read(fd, &ignored, sizeof(ignored)) == 0);
}

}  // namespace weft::detail::os
