// epoll_linux.cc: the backend for Linux: epoll, edge-triggered. An eventfd interrupts.
//
// epoll_pwait2 (Linux 5.11) takes nanoseconds. If it is missing, or a filter forbids it, timeouts
// are rounded up to milliseconds.
//
// The eventfd is edge-triggered and never read: each write is an edge, which one thread fetches. A
// level would wake a second waiter too.
//
// close() alone does not remove a descriptor whose open file lives on in another process or under
// another number. Its events would continue, under a token that means something else by then.
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <ctime>
#include <memory>
#include <new>

#include <weft/detail/wait.h>

#include "base/assert.h"
#include "base/atomic.h"
#include "base/time_units.h"
#include "os/fault_injection.h"
#include "os/late_handlers.h"
#include "os/os.h"
#include "poll/backend.h"

namespace weft::detail {

namespace {

constexpr uint64_t own_token = UINT64_MAX;  // the eventfd's; no other token has all bits set

class epoll_backend final : public poll_backend {
public:
    ~epoll_backend() override {
        if (wake_ >= 0) ::close(wake_);
        if (epoll_ >= 0) ::close(epoll_);
    }

    int open() noexcept override {
        if (const int error = os::injected_failure(os::failure::poller_make); error != 0) return error;
        epoll_ = ::epoll_create1(EPOLL_CLOEXEC);
        if (epoll_ < 0) return errno;
        if (const int error = os::injected_failure(os::failure::event); error != 0) return error;
        wake_ = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        if (wake_ < 0) return errno;
        return control(EPOLL_CTL_ADD, wake_, EPOLLIN | EPOLLET, own_token);
    }

    int add(int fd, uint64_t token) noexcept override {
        WEFT_ASSERT(token != own_token);
        if (const int error = os::injected_failure(os::failure::poller_add); error != 0) return error;
        return control(EPOLL_CTL_ADD, fd, EPOLLIN | EPOLLOUT | EPOLLPRI | EPOLLRDHUP | EPOLLET, token);
    }

    void remove(int fd) noexcept override { static_cast<void>(control(EPOLL_CTL_DEL, fd, 0, 0)); }

    uint32_t wait(poll_event* events, int64_t deadline_ns) noexcept override {
        epoll_event ready[poll_batch];
        const int count = fetch(ready, deadline_ns);
        uint32_t kept = 0;
        for (int i = 0; i < count; ++i) {
            if (ready[i].data.u64 != own_token) {
                events[kept++] = {ready[i].data.u64, meaning(ready[i].events)};
            } else if (deadline_ns == 0) {
                interrupt();
            }
        }
        return kept;
    }

    void interrupt() noexcept override {
        const uint64_t one = 1;
        static_cast<void>(::write(wake_, &one, sizeof(one)) == 0);  // full only after 2^64 writes
    }

private:
    int control(int what, int fd, uint32_t events, uint64_t token) const noexcept {
        epoll_event event{};
        event.events = events;
        event.data.u64 = token;
        return ::epoll_ctl(epoll_, what, fd, &event) == 0 ? 0 : errno;
    }

    static uint32_t meaning(uint32_t events) noexcept {
        uint32_t what = 0;
        if ((events & EPOLLIN) != 0) what |= poll_bits::readable;
        if ((events & EPOLLOUT) != 0) what |= poll_bits::writable;
        if ((events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR | EPOLLPRI)) != 0) what |= poll_bits::hung_up;
        return what;
    }

    // -1: interrupted by a signal.
    int fetch(epoll_event* ready, int64_t deadline_ns) noexcept {
        if (deadline_ns == 0) return ::epoll_wait(epoll_, ready, poll_batch, 0);
        if (deadline_ns == never) return ::epoll_wait(epoll_, ready, poll_batch, -1);
        const int64_t left_ns = std::max(deadline_ns - os::monotonic_ns(), int64_t{0});
#if defined(SYS_epoll_pwait2)
        if (exact_.load(relaxed)) {  // relaxed: a late thread tries once more
            const timespec left = {.tv_sec = left_ns / ns_per_s, .tv_nsec = left_ns % ns_per_s};
            const long count = ::syscall(SYS_epoll_pwait2, epoll_, ready, poll_batch, &left, nullptr, 0);
            if (count >= 0 || (errno != ENOSYS && errno != EPERM)) return static_cast<int>(count);
            exact_.store(false, relaxed);  // relaxed: as above
        }
#endif
        constexpr int64_t longest_ms = INT32_MAX;
        const int64_t left_ms = std::min((left_ns + ns_per_ms - 1) / ns_per_ms, longest_ms);
        return ::epoll_wait(epoll_, ready, poll_batch, static_cast<int>(left_ms));
    }

    int epoll_ = -1;
    int wake_ = -1;
    atomic<bool> exact_{!os::handlers_come_late};  // late handlers would wait for this call
};

}  // namespace

std::unique_ptr<poll_backend> make_poll_backend() noexcept {
    return std::unique_ptr<poll_backend>(new (std::nothrow) epoll_backend);
}

}  // namespace weft::detail
