// spawn_darwin.cc: starts a program, by posix_spawn(): process_spawn of process_calls.h.
//
// The call returns when the program has begun, or with the error of the step that has failed.
//
// Threads: any thread. See: docs/processes.md
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <unistd.h>

#include <cerrno>

#include "os/never_inlined.h"
#include "os/process_calls.h"
#include "os/process_watch.h"

extern char** environ;  // NOLINT: POSIX has it in no header

namespace weft::detail::os {

namespace {

// Keeps the first error.
class spawn_options {
public:
    spawn_options() noexcept {
        keep(::posix_spawnattr_init(&attributes_));
        keep(::posix_spawn_file_actions_init(&actions_));
    }

    ~spawn_options() {
        ::posix_spawn_file_actions_destroy(&actions_);
        ::posix_spawnattr_destroy(&attributes_);
    }

    spawn_options(const spawn_options&) = delete;
    spawn_options& operator=(const spawn_options&) = delete;

    void set(const spawn_request& r) noexcept {
        int flags = POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK;
        sigset_t signals;
        sigfillset(&signals);
        keep(::posix_spawnattr_setsigdefault(&attributes_, &signals));
        sigemptyset(&signals);
        keep(::posix_spawnattr_setsigmask(&attributes_, &signals));
        if (r.group == group_kind::own) {
            flags |= POSIX_SPAWN_SETPGROUP;
            keep(::posix_spawnattr_setpgroup(&attributes_, 0));
        } else if (r.group == group_kind::own_session) {
            flags |= POSIX_SPAWN_SETSID;
        }
        keep(::posix_spawnattr_setflags(&attributes_, static_cast<short>(flags)));
        for (int i = 0; i < 3; ++i) place_standard(i, r.standard[i]);
        if (r.directory != nullptr) keep(::posix_spawn_file_actions_addchdir_np(&actions_, r.directory));
    }

    // Returns 0 or an errno value.
    [[nodiscard]] int start(const spawn_request& r, int& pid) const noexcept {
        if (error_ != 0) return error_;
        const char* program = r.program != nullptr ? r.program : r.arguments[0];
        char* const* environment = r.environment != nullptr ? r.environment : environ;
        pid_t started = 0;
        const int error = ::posix_spawnp(&started, program, &actions_, &attributes_, r.arguments, environment);
        pid = started;
        return error;
    }

private:
    void keep(int error) noexcept {
        if (error_ == 0) error_ = error;
    }

    void place_standard(int number, int fd) noexcept {
        if (fd == std_null) {
            keep(::posix_spawn_file_actions_addopen(&actions_, number, "/dev/null", O_RDWR, 0));
        } else if (fd != std_inherited) {
            keep(::posix_spawn_file_actions_adddup2(&actions_, fd, number));
        }
    }

    posix_spawnattr_t attributes_ = nullptr;
    posix_spawn_file_actions_t actions_ = nullptr;
    int error_ = 0;
};

}  // namespace

WEFT_OS_CALL int process_spawn(const spawn_request& r, int& pid, int& descriptor) noexcept {
    spawn_options options;
    options.set(r);
    if (const int error = options.start(r, pid)) return -error;
    descriptor = watch_process(pid);
    if (descriptor < 0) descriptor = -1;
    return 0;
}

// posix_spawn starts children only.
int process_spawn_apart(const spawn_request& /*r*/) noexcept { return -ENOTSUP; }

}  // namespace weft::detail::os
