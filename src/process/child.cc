// child.cc: see child.h.
#include "process/child.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "os/os.h"
#include "os/process_calls.h"
#include "process/reaper.h"

namespace weft::detail {

namespace {

constexpr int64_t shortest_pause_ns = 1'000'000;
constexpr int64_t longest_pause_ns = 50'000'000;

// A process that the system forgets at once reports its status only microseconds later, or later
// still if it has no CPU.
constexpr int64_t last_moments_pause_ns = 50'000;
constexpr int64_t last_moments_ns = 500'000'000;

// Returns false if the call must stop; result says why.
bool pause_until(int64_t until_ns, int64_t deadline_ns, io_result& result) noexcept {
    using how = io_result::how;
    poll_side nobody;
    switch (nobody.wait_after(nobody.edges(), wait_reason::process_end, std::min(until_ns, deadline_ns))) {
        case wait_result::cancelled:
            result = {-1, 0, how::cancelled};
            return false;
        case wait_result::expired:
            result = {-1, 0, how::expired};
            return false;
        default:
            break;
    }
    if (now_ns() < deadline_ns) return true;
    result = {-1, 0, how::timed_out};
    return false;
}

}  // namespace

child::child(int pid, fd_handle descriptor, bool leads_group) noexcept
    : descriptor_(std::move(descriptor)), pid_(pid), leads_group_(leads_group) {}

// W1 to W3. Returns 0: status_ is filled in; -EAGAIN: it still runs; -EBUSY: look again in a
// moment; or why the status cannot be known.
int child::look_locked() noexcept {
    int result = 0;
    if (!known_) {
        os::process_end end{};
        result = os::process_look(descriptor_.fd(), pid_, end);
        if (result == -ECHILD) {
            reaped_ = true;
            if (descriptor_.fd() >= 0) result = os::process_recall(descriptor_.fd(), end);
        }
        if (result == 0) {
            status_ = {.code = end.code, .signal = end.signal, .core_dumped = end.core_dumped};
            known_ = true;
            if (!leads_group_) reap_locked();
        }
    }
    return result;
}

// W3.
void child::reap_locked() noexcept {
    if (!reaped_) os::process_reap(descriptor_.fd(), pid_);
    reaped_ = true;
}

ssize_t child::look(exit_status& status) noexcept {
    for (int64_t waited_ns = 0;; waited_ns += last_moments_pause_ns) {
        lock_.lock();
        const int result = look_locked();
        if (result == 0) status = status_;
        lock_.unlock();
        if (result == 0 || result == -EAGAIN) return result;
        if (result != -EBUSY || waited_ns >= last_moments_ns) return -ECHILD;
        os::sleep_ns(last_moments_pause_ns);
    }
}

io_result child::wait(exit_status& status, int64_t deadline_ns) noexcept {
    if (descriptor_.fd() < 0) return wait_by_looking(status, deadline_ns);
    const fd_use use(descriptor_.desc(), descriptor_.generation());
    if (!use.entered()) return {-1, 0, io_result::how::closed};
    // Even after its deadline a call checks once.
    if (const ssize_t result = look(status); result != -EAGAIN) {
        if (result < 0) return {-1, static_cast<int>(-result), io_result::how::failed};
        return {};
    }
    return call_fd(
        use, use.desc().in, wait_reason::process_end, may_leave_some, [&] { return look(status); },
        [&] { return deadline_ns; });
}

io_result child::wait_by_looking(exit_status& status, int64_t deadline_ns) noexcept {
    io_result result;
    for (int64_t pause_ns = shortest_pause_ns;; pause_ns = std::min(2 * pause_ns, longest_pause_ns)) {
        const ssize_t seen = look(status);
        if (seen == 0) return {};
        if (seen != -EAGAIN) return {-1, static_cast<int>(-seen), io_result::how::failed};
        if (!pause_until(now_ns() + pause_ns, deadline_ns, result)) return result;
    }
}

int child::kill(int signal) noexcept {
    lock_.lock();
    // The number may be reused once another caller has taken the status.
    if (!reaped_ && descriptor_.fd() < 0) static_cast<void>(look_locked());
    int result = has_ended_locked() ? -ESRCH : os::process_signal(descriptor_.fd(), pid_, signal);
    if (descriptor_.fd() >= 0 && (result == -EPERM || result == -ENOSYS)) {
        // The call by descriptor is refused, or the program belongs to another user; then kill() is
        // refused, too.
        static_cast<void>(look_locked());
        result = has_ended_locked() ? -ESRCH : os::process_signal(-1, pid_, signal);
    }
    lock_.unlock();
    return -result;
}

int child::kill_group(int signal) noexcept {
    if (!leads_group_) return EINVAL;
    lock_.lock();
    os::process_end ignored{};
    // Another part of the program may have taken the status, and freed the number.
    if (!reaped_ && os::process_look(descriptor_.fd(), pid_, ignored) == -ECHILD) reaped_ = true;
    const int result = os::group_signal(descriptor_.fd(), reaped_ ? 0 : pid_, signal);
    lock_.unlock();
    return -result;
}

void child::leave() noexcept {
    exit_status ignored;
    if (look(ignored) != -EAGAIN) {
        lock_.lock();
        reap_locked();
        lock_.unlock();
        return;
    }
    reap_later(descriptor_.detach(), pid_);
}

}  // namespace weft::detail
