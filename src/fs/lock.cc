// lock.cc: see weft/fs/lock.h.
#include <cerrno>
#include <chrono>

#include <weft/backoff.h>
#include <weft/blocking.h>
#include <weft/error.h>
#include <weft/fs/lock.h>

#include "fs/report.h"
#include "net/fd_io.h"
#include "os/path_calls.h"
#include "sched/simulated_fds.h"

namespace weft::fs {

namespace {

namespace os = weft::detail::os;
using weft::detail::fd_use;

constexpr backoff_options pauses_between_tries{
    .first = std::chrono::milliseconds(1), .longest = std::chrono::milliseconds(50), .jitter_percent = 0};

}  // namespace

bool file_lock::try_once(file& f, lock_mode how, std::error_code& ec) {
    const fd_use use(f.handle_.desc(), f.handle_.generation());
    if (use.is_closed()) {
        ec = errc::closed;
        return false;
    }
    int result = -ENOTSUP;
    if (!weft::detail::is_simulated_fd(use.desc().fd()))
        result = blocking([&] { return os::try_lock_file(use.desc().fd(), how == lock_mode::shared); });
    if (result == -EWOULDBLOCK) {
        ec.clear();
        return false;
    }
    detail::set_result(ec, result);
    if (!ec) file_ = &f;
    return !ec;
}

void file_lock::wait(file& f, lock_mode how, std::error_code& ec) {
    backoff pauses(pauses_between_tries);
    while (!try_once(f, how, ec) && !ec) {
        try {
            pauses.wait();
        } catch (const cancelled&) {
            ec = errc::cancelled;
            return;
        } catch (const timed_out&) {
            ec = errc::timed_out;
            return;
        }
    }
}

file_lock::file_lock(file& f, lock_mode how, std::error_code& ec) { wait(f, how, ec); }

file_lock::file_lock(file& f, lock_mode how) {
    std::error_code ec;
    wait(f, how, ec);
    detail::throw_if(ec, "lock", f.path());
}

file_lock::file_lock(file& f, lock_mode how, std::try_to_lock_t /*try_only*/, std::error_code& ec) {
    static_cast<void>(try_once(f, how, ec));
}

file_lock::file_lock(file& f, lock_mode how, std::try_to_lock_t /*try_only*/) {
    std::error_code ec;
    static_cast<void>(try_once(f, how, ec));
    detail::throw_if(ec, "lock", f.path());
}

file_lock& file_lock::operator=(file_lock&& other) noexcept {
    if (this == &other) return *this;
    unlock();
    file_ = std::exchange(other.file_, nullptr);
    return *this;
}

void file_lock::unlock() noexcept {
    file* const f = std::exchange(file_, nullptr);
    if (f == nullptr) return;
    const fd_use use(f->handle_.desc(), f->handle_.generation());
    if (!use.is_closed()) static_cast<void>(os::unlock_file(use.desc().fd()));  // does not wait
}

}  // namespace weft::fs
