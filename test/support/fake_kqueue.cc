// fake_kqueue.cc: kqueue() and kevent() over epoll, as much of kqueue(2) as the backend needs. A
// queue is an epoll descriptor; closing it destroys the queue. Supports only edges (EV_CLEAR), and
// one user event per queue.
#include <sys/epoll.h>
#include <sys/event.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <map>
#include <memory>
#include <mutex>

namespace {

struct filters {
    bool reads = false;
    bool writes = false;
    void* read_data = nullptr;
    void* write_data = nullptr;
};

struct queue {
    ~queue() {
        if (user_event >= 0) ::close(user_event);
    }

    std::mutex lock;
    std::map<int, filters> watched;
    int user_event = -1;
};

std::mutex all_lock;
std::map<int, std::shared_ptr<queue>> all;

std::shared_ptr<queue> find(int number) {
    const std::lock_guard held(all_lock);
    return all[number];
}

int fails_with(int error) {
    errno = error;
    return -1;
}

int watch(int epoll, int what, int fd, const filters& f) {
    epoll_event e{};
    e.events = EPOLLET | EPOLLRDHUP;
    if (f.reads) e.events |= EPOLLIN;
    if (f.writes) e.events |= EPOLLOUT;
    e.data.fd = fd;
    return ::epoll_ctl(epoll, what, fd, &e);
}

int change_user_event(int epoll, queue& q, const struct kevent& c) {
    if ((c.flags & EV_ADD) != 0 && q.user_event < 0) {
        q.user_event = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        if (q.user_event < 0 || watch(epoll, EPOLL_CTL_ADD, q.user_event, {.reads = true}) != 0) return -1;
    }
    if (q.user_event < 0) return fails_with(ENOENT);
    const uint64_t one = 1;
    if ((c.fflags & NOTE_TRIGGER) != 0 && ::write(q.user_event, &one, sizeof(one)) < 0) return -1;
    return 0;
}

// other: a descriptor that fd does not watch.
bool is_queue(int fd, int other) { return ::epoll_ctl(fd, EPOLL_CTL_DEL, other, nullptr) != 0 && errno == ENOENT; }

int change(int epoll, queue& q, const struct kevent& c) {
    if (c.filter == EVFILT_USER) return change_user_event(epoll, q, c);
    const int fd = static_cast<int>(c.ident);
    if (c.filter == EVFILT_WRITE && (c.flags & EV_ADD) != 0 && is_queue(fd, epoll)) return fails_with(EINVAL);
    // Closed descriptors are not watched.
    if (q.watched.contains(fd) && watch(epoll, EPOLL_CTL_MOD, fd, q.watched[fd]) != 0) q.watched.erase(fd);
    const auto found = q.watched.find(fd);
    filters f = found == q.watched.end() ? filters{} : found->second;
    bool& on = c.filter == EVFILT_READ ? f.reads : f.writes;
    if ((c.flags & EV_ADD) == 0 && !on) return fails_with(ENOENT);
    if ((c.flags & EV_ENABLE) != 0) return 0;
    on = (c.flags & EV_ADD) != 0;
    (c.filter == EVFILT_READ ? f.read_data : f.write_data) = c.udata;
    if (!f.reads && !f.writes) {
        q.watched.erase(found);
        return watch(epoll, EPOLL_CTL_DEL, fd, f);
    }
    if (watch(epoll, found == q.watched.end() ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, fd, f) != 0) return -1;
    q.watched[fd] = f;
    return 0;
}

// Translates one epoll event into up to two kqueue events.
int translate(queue& q, const epoll_event& from, struct kevent* into) {
    const std::lock_guard held(q.lock);
    if (from.data.fd == q.user_event) {
        EV_SET(into, 0, EVFILT_USER, EV_CLEAR, 0, 0, nullptr);
        return 1;
    }
    const auto found = q.watched.find(from.data.fd);
    if (found == q.watched.end()) return 0;
    const filters& f = found->second;
    const bool ends = (from.events & (EPOLLHUP | EPOLLERR)) != 0;
    const bool reads_end = ends || (from.events & EPOLLRDHUP) != 0;
    const auto ident = static_cast<uintptr_t>(from.data.fd);
    int count = 0;
    if (f.reads && ((from.events & EPOLLIN) != 0 || reads_end))
        EV_SET(into + count++, ident, EVFILT_READ, reads_end ? EV_CLEAR | EV_EOF : EV_CLEAR, 0, 0, f.read_data);
    if (f.writes && ((from.events & EPOLLOUT) != 0 || ends))
        EV_SET(into + count++, ident, EVFILT_WRITE, ends ? EV_CLEAR | EV_EOF : EV_CLEAR, 0, 0, f.write_data);
    return count;
}

// Like epoll_pwait2(), which musl does not have, and an emulator may not have.
int fetch(int epoll, epoll_event* into, int most, const timespec* timeout) {
    const auto found = static_cast<int>(::syscall(SYS_epoll_pwait2, epoll, into, most, timeout, nullptr, 0));
    if (found >= 0 || errno != ENOSYS) return found;
    const int ms =
        timeout == nullptr ? -1 : static_cast<int>(timeout->tv_sec * 1000 + (timeout->tv_nsec + 999'999) / 1'000'000);
    return ::epoll_wait(epoll, into, most, ms);
}

}  // namespace

int kqueue() {
    const int epoll = ::epoll_create1(EPOLL_CLOEXEC);
    const std::lock_guard held(all_lock);
    if (epoll >= 0) all[epoll] = std::make_shared<queue>();
    return epoll;
}

int kevent(int queue,
           const struct kevent* changes,
           int change_count,
           struct kevent* events,
           int event_count,
           const timespec* timeout) {
    const auto q = find(queue);
    if (q == nullptr) return fails_with(EBADF);
    {
        const std::lock_guard held(q->lock);
        for (int i = 0; i < change_count; ++i) {
            if (change(queue, *q, changes[i]) != 0) return -1;
        }
    }
    if (event_count == 0) return 0;
    std::array<epoll_event, 64> ready;
    const int most = std::min(event_count / 2, static_cast<int>(ready.size()));  // each may become two
    const int found = fetch(queue, ready.data(), most, timeout);
    int count = 0;
    for (int i = 0; i < found; ++i) count += translate(*q, ready[static_cast<std::size_t>(i)], events + count);
    return found < 0 ? -1 : count;
}
