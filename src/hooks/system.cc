// system.cc: calls that block in the system or in the C library: getaddrinfo, waitpid, flock.
//
// getaddrinfo and flock are blocking calls (weft::blocking): the C library's own sockets are out of
// reach, and no descriptor tells when a lock is free.
//
// waitpid for one process waits for a descriptor of that process (pidfd). For several processes,
// and where the system has no such descriptors, it is a blocking call.
#include <netdb.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include <weft/blocking.h>
#include <weft/detail/wait.h>

#include "hooks/calls.h"
#include "hooks/wait_io.h"

namespace weft::hooks {

namespace {

constinit const real<int(const char*, const char*, const addrinfo*, addrinfo**)> real_getaddrinfo("getaddrinfo");
constinit const real<pid_t(pid_t, int*, int)> real_waitpid("waitpid");
constinit const real<int(int, int)> real_flock("flock");

constexpr int has_stopped_too = WUNTRACED | WCONTINUED;  // of which a descriptor does not tell

pid_t waitpid_parked(pid_t pid, int* status, int options) noexcept {
    const pid_t ended = real_waitpid(pid, status, options | WNOHANG);
    if (ended != 0) return ended;
    const auto block = [=] { return real_waitpid(pid, status, options); };
    const int fd =
        pid > 0 && (options & has_stopped_too) == 0 ? static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)) : -1;
    if (fd < 0) return blocking(block);
    int error = 0;
    {
        foreign_fd waits(fd, false);
        for (;;) {
            waits.begin();
            if (is_ready(fd, POLLIN)) break;
            const foreign_end end = waits.wait(detail::never);
            if (end == foreign_end::failed) break;
            if (end == foreign_end::again) continue;
            error = error_of(end, 0);
            break;
        }
    }
    ::close(fd);
    return error == 0 ? blocking(block) : fail(error);
}

}  // namespace

void use_system() noexcept {}

}  // namespace weft::hooks

using namespace weft::hooks;

extern "C" {

int getaddrinfo(const char* name, const char* service, const addrinfo* hints, addrinfo** found) {
    const auto look_up = [=] { return real_getaddrinfo(name, service, hints, found); };
    return may_park() ? weft::blocking(look_up) : look_up();
}

pid_t waitpid(pid_t pid, int* status, int options) {
    if ((options & WNOHANG) != 0 || !may_park()) return real_waitpid(pid, status, options);
    return waitpid_parked(pid, status, options);
}

int flock(int fd, int operation) noexcept {
    if ((operation & LOCK_NB) != 0 || operation == LOCK_UN || !may_park()) return real_flock(fd, operation);
    const int result = real_flock(fd, operation | LOCK_NB);
    if (result == 0 || last_error() != EWOULDBLOCK) return result;
    return weft::blocking([=] { return real_flock(fd, operation); });
}
}
