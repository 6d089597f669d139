// poll.cc: poll, ppoll, select, pselect, epoll_wait and epoll_pwait.
//
// Each is tried without waiting. If nothing is ready, the green thread waits for an edge of any of
// the descriptors (foreign_wait.h), and tries again: the system alone decides what is ready. An
// epoll descriptor is one that is readable when it has events.
//
// Calls that change the signal mask while they wait are blocking calls (weft::blocking): the mask
// is the OS thread's.
#include <poll.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/time.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <new>

#include <weft/blocking.h>
#include <weft/detail/wait.h>

#include "hooks/calls.h"
#include "hooks/wait_io.h"

namespace weft::hooks {

constinit const real<int(pollfd*, nfds_t, int)> real_poll("poll");

namespace {

constinit const real<int(pollfd*, nfds_t, const timespec*, const sigset_t*)> real_ppoll("ppoll");
constinit const real<int(int, fd_set*, fd_set*, fd_set*, timeval*)> real_select("select");
constinit const real<int(int, fd_set*, fd_set*, fd_set*, const timespec*, const sigset_t*)> real_pselect("pselect");
constinit const real<int(int, epoll_event*, int, int)> real_epoll_wait("epoll_wait");
constinit const real<int(int, epoll_event*, int, int, const sigset_t*)> real_epoll_pwait("epoll_pwait");

constexpr short asks_to_write = POLLOUT | POLLWRNORM | POLLWRBAND;

int64_t ns_of(const timespec& t) noexcept {
    constexpr int64_t longest_s = 1'000'000'000;
    if (t.tv_sec > longest_s) return detail::never;
    return int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
}

bool is_valid(const timespec& t) noexcept { return t.tv_sec >= 0 && t.tv_nsec >= 0 && t.tv_nsec < 1'000'000'000; }

// What a wait for several descriptors without any returns: 0 at its deadline, or -1.
int result_of(foreign_end end) noexcept { return end == foreign_end::timed_out ? 0 : fail(error_of(end, 0)); }

// Calls attempt() until its result is not 0. add(fds): the descriptors. block(): the call as the
// program made it, if the poller does not take them.
template <typename Add, typename Attempt, typename Block>
int wait_for_any(std::size_t sides, int64_t deadline_ns, Add add, Attempt attempt, Block block) noexcept {
    try {
        foreign_fds all(sides);
        add(all);
        for (;;) {
            all.begin();
            const int count = attempt();
            if (count != 0) return count;
            const foreign_end end = all.wait(deadline_ns);
            if (end == foreign_end::failed) return blocking(block);
            if (end != foreign_end::again) return result_of(end);
        }
    } catch (const std::bad_alloc&) {
        return fail(ENOMEM);
    }
}

int poll_parked(pollfd* fds, nfds_t count, int64_t timeout_ns, int timeout_ms) noexcept {
    const auto now = [=] { return real_poll(fds, count, 0); };
    const int ready = now();
    if (ready != 0 || timeout_ns == 0) return ready;
    std::size_t sides = 0;
    for (nfds_t i = 0; i < count; ++i) {
        if (fds[i].fd >= 0) sides += (fds[i].events & asks_to_write) != 0 ? 2 : 1;
    }
    const auto add = [=](foreign_fds& all) {
        for (nfds_t i = 0; i < count; ++i) {
            if (fds[i].fd < 0) continue;
            // Errors and hang-ups are events of both directions.
            const bool writes = (fds[i].events & asks_to_write) != 0;
            if (writes) all.add(fds[i].fd, true);
            if (!writes || (fds[i].events & ~asks_to_write) != 0) all.add(fds[i].fd, false);
        }
    };
    return wait_for_any(sides, deadline_after(timeout_ns), add, now, [=] { return real_poll(fds, count, timeout_ms); });
}

// The three sets of a select, before and after.
struct fd_sets {
    fd_set read;
    fd_set write;
    fd_set except;
};

int select_parked(
    int limit, fd_set* reads, fd_set* writes, fd_set* excepts, int64_t timeout_ns, timeval* timeout) noexcept {
    // Sets may be longer than fd_set; only what limit covers exists.
    constexpr int most = FD_SETSIZE;
    const auto block = [=] { return real_select(limit, reads, writes, excepts, timeout); };
    if (limit > most || limit < 0) return blocking(block);
    const auto bytes = (static_cast<std::size_t>(limit) + NFDBITS - 1) / NFDBITS * sizeof(fd_mask);
    const auto copy = [bytes](fd_set* to, const fd_set* from) {
        if (to != nullptr && from != nullptr)
            std::copy_n(reinterpret_cast<const char*>(from), bytes, reinterpret_cast<char*>(to));
    };
    fd_sets before{};
    copy(&before.read, reads);
    copy(&before.write, writes);
    copy(&before.except, excepts);
    const auto now = [&] {
        copy(reads, &before.read);
        copy(writes, &before.write);
        copy(excepts, &before.except);
        timeval none{};
        return real_select(limit, reads, writes, excepts, &none);
    };
    const int64_t deadline_ns = deadline_after(timeout_ns);
    const int ready = now();
    if (ready != 0 || timeout_ns == 0) return ready;
    std::size_t sides = 0;
    for (int fd = 0; fd < limit; ++fd) {
        sides += (FD_ISSET(fd, &before.read) || FD_ISSET(fd, &before.except) ? 1U : 0U) +
                 (FD_ISSET(fd, &before.write) ? 1U : 0U);
    }
    const auto add = [&](foreign_fds& all) {
        for (int fd = 0; fd < limit; ++fd) {
            if (FD_ISSET(fd, &before.write)) all.add(fd, true);
            if (FD_ISSET(fd, &before.read) || FD_ISSET(fd, &before.except)) all.add(fd, false);
        }
    };
    const int result = wait_for_any(sides, deadline_ns, add, now, [&] {
        copy(reads, &before.read);
        copy(writes, &before.write);
        copy(excepts, &before.except);
        return block();
    });
    if (timeout != nullptr && deadline_ns != detail::never) {  // as Linux does
        const int64_t left_ns = std::max<int64_t>(deadline_ns - detail::now_ns(), 0);
        timeout->tv_sec = left_ns / 1'000'000'000;
        timeout->tv_usec = left_ns % 1'000'000'000 / 1000;
    }
    return result;
}

int64_t timeout_ns_of(int timeout_ms) noexcept {
    return timeout_ms < 0 ? detail::never : int64_t{timeout_ms} * 1'000'000;
}

int epoll_wait_parked(int fd, epoll_event* events, int room, int timeout_ms) noexcept {
    const auto now = [=] { return real_epoll_wait(fd, events, room, 0); };
    const int ready = now();
    if (ready != 0 || timeout_ms == 0) return ready;
    const int64_t deadline_ns = deadline_after(timeout_ns_of(timeout_ms));
    foreign_fd waits(fd, false);
    for (;;) {
        waits.begin();
        const int count = now();
        if (count != 0) return count;
        const foreign_end end = waits.wait(deadline_ns);
        if (end == foreign_end::failed) return blocking([=] { return real_epoll_wait(fd, events, room, timeout_ms); });
        if (end != foreign_end::again) return result_of(end);
    }
}

}  // namespace

void use_poll() noexcept {}

}  // namespace weft::hooks

using namespace weft::hooks;

extern "C" {

int poll(pollfd* fds, nfds_t count, int timeout_ms) {
    if (timeout_ms == 0 || !may_park()) return real_poll(fds, count, timeout_ms);
    return poll_parked(fds, count, timeout_ns_of(timeout_ms), timeout_ms);
}

int ppoll(pollfd* fds, nfds_t count, const timespec* timeout, const sigset_t* mask) {
    if (!may_park() || (timeout != nullptr && !is_valid(*timeout))) return real_ppoll(fds, count, timeout, mask);
    if (mask != nullptr) return weft::blocking([=] { return real_ppoll(fds, count, timeout, mask); });
    const int64_t timeout_ns = timeout == nullptr ? weft::detail::never : ns_of(*timeout);
    const int64_t ms = timeout_ns == weft::detail::never ? -1 : (timeout_ns + 999'999) / 1'000'000;
    return poll_parked(fds, count, timeout_ns, static_cast<int>(std::min<int64_t>(ms, INT32_MAX)));
}

int select(int limit, fd_set* reads, fd_set* writes, fd_set* excepts, timeval* timeout) {
    if (!may_park() || (timeout != nullptr && (timeout->tv_sec < 0 || timeout->tv_usec < 0)))
        return real_select(limit, reads, writes, excepts, timeout);
    const int64_t timeout_ns =
        timeout == nullptr
            ? weft::detail::never
            : ns_of({timeout->tv_sec + timeout->tv_usec / 1'000'000, timeout->tv_usec % 1'000'000 * 1000});
    return select_parked(limit, reads, writes, excepts, timeout_ns, timeout);
}

int pselect(int limit, fd_set* reads, fd_set* writes, fd_set* excepts, const timespec* timeout, const sigset_t* mask) {
    if (!may_park() || (timeout != nullptr && !is_valid(*timeout)))
        return real_pselect(limit, reads, writes, excepts, timeout, mask);
    if (mask != nullptr)
        return weft::blocking([=] { return real_pselect(limit, reads, writes, excepts, timeout, mask); });
    timeval copy{};
    if (timeout != nullptr) copy = {timeout->tv_sec, timeout->tv_nsec / 1000};
    return select_parked(limit, reads, writes, excepts, timeout == nullptr ? weft::detail::never : ns_of(*timeout),
                         timeout == nullptr ? nullptr : &copy);
}

int epoll_wait(int fd, epoll_event* events, int room, int timeout_ms) {
    if (timeout_ms == 0 || !may_park()) return real_epoll_wait(fd, events, room, timeout_ms);
    return epoll_wait_parked(fd, events, room, timeout_ms);
}

int epoll_pwait(int fd, epoll_event* events, int room, int timeout_ms, const sigset_t* mask) {
    if (timeout_ms == 0 || !may_park()) return real_epoll_pwait(fd, events, room, timeout_ms, mask);
    if (mask != nullptr) return weft::blocking([=] { return real_epoll_pwait(fd, events, room, timeout_ms, mask); });
    return epoll_wait_parked(fd, events, room, timeout_ms);
}

// What programs call that are compiled with _FORTIFY_SOURCE.
[[noreturn]] void __chk_fail();

int __poll_chk(pollfd* fds, nfds_t count, int timeout_ms, size_t room) {
    if (room / sizeof(*fds) < count) __chk_fail();
    return poll(fds, count, timeout_ms);
}

int __ppoll_chk(pollfd* fds, nfds_t count, const timespec* timeout, const sigset_t* mask, size_t room) {
    if (room / sizeof(*fds) < count) __chk_fail();
    return ppoll(fds, count, timeout, mask);
}
}
