// kqueue.h: the backend for macOS and the BSDs: kqueue, edge-triggered (EV_CLEAR). A user event
// interrupts.
//
// Each descriptor is added twice, and readiness in both directions comes as two events.
//
// A kqueue would redirect the events of a second add to the new token, so add() checks first. Of
// regular files, which are always ready, it would report only size changes, so add() refuses them.
//
// Missing: urgent data (EVFILT_EXCEPT, where it exists). A socket that reads only normal data may
// stop short of the urgent mark and wait until more arrives.
//
// In a header because tests on Linux compile it too, with their own kevent()
// (test/support/fake_kqueue).
#pragma once

#include <sys/event.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <ctime>

#include <weft/detail/wait.h>

#include "os/os.h"
#include "os/timespec.h"
#include "poll/backend.h"

namespace weft::detail {

class kqueue_backend final : public poll_backend {
public:
    ~kqueue_backend() override {
        if (kqueue_ >= 0) ::close(kqueue_);
    }

    int open() noexcept override {
        kqueue_ = ::kqueue();
        return kqueue_ < 0 ? errno : change(change_of(0, EVFILT_USER, EV_ADD | EV_CLEAR));
    }

    int add(int fd, uint64_t token) noexcept override {
        struct stat file{};
        if (::fstat(fd, &file) != 0) return errno;
        if (S_ISREG(file.st_mode)) return EPERM;
        // No change if it is added; ENOENT if not.
        if (change(change_of(fd, EVFILT_READ, EV_ENABLE)) == 0) return EEXIST;
        if (const int error = change(change_of(fd, EVFILT_READ, EV_ADD | EV_CLEAR, token)); error != 0) return error;
        const int error = change(change_of(fd, EVFILT_WRITE, EV_ADD | EV_CLEAR, token));
        // It can only be read: another kqueue (EINVAL), or a pipe without a writer (EPIPE).
        if (error == 0 || error == EINVAL || error == EPIPE) return 0;
        remove(fd);
        return error;
    }

    void remove(int fd) noexcept override {
        static_cast<void>(change(change_of(fd, EVFILT_READ, EV_DELETE)));
        static_cast<void>(change(change_of(fd, EVFILT_WRITE, EV_DELETE)));
    }

    uint32_t wait(poll_event* events, int64_t deadline_ns) noexcept override {
        std::array<struct kevent, poll_batch> ready;
        const int count = fetch(ready.data(), deadline_ns);
        uint32_t kept = 0;
        for (int i = 0; i < count; ++i) {
            const struct kevent& e = ready[static_cast<std::size_t>(i)];
            if (e.filter != EVFILT_USER) {
                events[kept++] = {reinterpret_cast<uintptr_t>(e.udata), meaning(e)};
            } else if (deadline_ns == 0) {
                interrupt();
            }
        }
        return kept;
    }

    void interrupt() noexcept override {
        struct kevent e = change_of(0, EVFILT_USER, 0);
        e.fflags = NOTE_TRIGGER;
        static_cast<void>(change(e));
    }

private:
    static struct kevent change_of(int fd, int16_t filter, uint16_t flags, uint64_t token = 0) noexcept {
        struct kevent e{};
        EV_SET(&e, static_cast<uintptr_t>(fd), filter, flags, 0, 0,
               reinterpret_cast<void*>(static_cast<uintptr_t>(token)));
        return e;
    }

    // Returns 0 or an errno value.
    [[nodiscard]] int change(const struct kevent& e) const noexcept {
        return ::kevent(kqueue_, &e, 1, nullptr, 0, nullptr) < 0 ? errno : 0;
    }

    static uint32_t meaning(const struct kevent& e) noexcept {
        const uint32_t what = e.filter == EVFILT_READ ? poll_bits::readable : poll_bits::writable;
        return (e.flags & (EV_EOF | EV_ERROR)) != 0 ? what | poll_bits::hung_up : what;
    }

    // -1: interrupted by a signal.
    int fetch(struct kevent* ready, int64_t deadline_ns) const noexcept {
        constexpr int most = static_cast<int>(poll_batch);
        if (deadline_ns == never) return ::kevent(kqueue_, nullptr, 0, ready, most, nullptr);
        const int64_t left_ns = deadline_ns == 0 ? 0 : std::max(deadline_ns - os::monotonic_ns(), int64_t{0});
        const timespec left = os::to_timespec(left_ns);
        return ::kevent(kqueue_, nullptr, 0, ready, most, &left);
    }

    int kqueue_ = -1;
};

}  // namespace weft::detail
