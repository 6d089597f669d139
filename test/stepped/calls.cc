// calls.cc: calls of the C library, in place of the real ones (the linker's --wrap).
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <ctime>

#include "stepped_atomic.h"
#include "turns.h"

using namespace stepped;  // NOLINT(google-build-using-namespace): all of it is for that

namespace {

constexpr int64_t second_ns = 1'000'000'000;

int64_t to_ns(const timespec& t) noexcept { return int64_t{t.tv_sec} * second_ns + t.tv_nsec; }

int64_t after(int64_t ns) noexcept { return virtual_ns() + ns; }

struct first_call {
    controlled* thread;
    void* (*body)(void*);
    void* argument;
};

void* begin_thread(void* argument) {
    auto* call = static_cast<first_call*>(argument);
    start_turns(call->thread);
    const first_call c = *call;
    delete call;
    return c.body(c.argument);
}

long futex(uint32_t* word, int operation, uint32_t value, const timespec* limit) noexcept {
    step();
    switch (operation & FUTEX_CMD_MASK) {
        case FUTEX_WAKE:
            return serve_word(word, value);
        case FUTEX_WAIT_BITSET:
            if (__atomic_load_n(word, __ATOMIC_SEQ_CST) != value) {
                errno = EAGAIN;
                return -1;
            }
            if (ends_without_reason()) return 0;
            if (wait_for_word(word, limit == nullptr ? for_ever : to_ns(*limit)) == why::served) return 0;
            errno = ETIMEDOUT;
            return -1;
        default:
            fail("an unknown operation of futex");
    }
}

}  // namespace

extern "C" {

int __real_pthread_create(pthread_t* id, const pthread_attr_t* how, void* (*body)(void*), void* argument);
int __real_pthread_join(pthread_t id, void** returned);
long __real_syscall(long number, ...);
int __real_clock_gettime(clockid_t which, timespec* t);
int __real_epoll_wait(int epoll, epoll_event* events, int most, int timeout_ms);
int __real_sched_getaffinity(pid_t pid, size_t size, cpu_set_t* set);

int __wrap_pthread_create(pthread_t* id, const pthread_attr_t* how, void* (*body)(void*), void* argument) {
    if (self() == nullptr) return __real_pthread_create(id, how, body, argument);
    step();
    auto* call = new first_call{.thread = add_thread(), .body = body, .argument = argument};
    const int error = __real_pthread_create(id, how, begin_thread, call);
    if (error != 0) {
        remove_thread(call->thread);
        delete call;
        return error;
    }
    set_handle(call->thread, static_cast<uintptr_t>(*id));
    return 0;
}

int __wrap_pthread_join(pthread_t id, void** returned) {
    controlled* t = self() == nullptr ? nullptr : find_by_handle(static_cast<uintptr_t>(id));
    if (t != nullptr) wait_for_thread(*t);
    return __real_pthread_join(id, returned);
}

int __wrap_clock_nanosleep(clockid_t clock, int flags, const timespec* t, timespec* rest);

long __wrap_syscall(long number, long a, long b, long c, long d, long e, long f) {
    if (self() == nullptr) return __real_syscall(number, a, b, c, d, e, f);
    switch (number) {
        case SYS_futex:
            // Without time it only asks whether the word can be read.
            if ((b & FUTEX_CMD_MASK) == FUTEX_WAIT) break;
            return futex(reinterpret_cast<uint32_t*>(a), static_cast<int>(b), static_cast<uint32_t>(c),
                         reinterpret_cast<const timespec*>(d));
        case SYS_sched_yield:
            give_turn();
            return 0;
        case SYS_clock_nanosleep:
            return __wrap_clock_nanosleep(static_cast<clockid_t>(a), static_cast<int>(b),
                                          reinterpret_cast<const timespec*>(c), nullptr);
        case SYS_epoll_pwait2: {
            step();
            const auto* limit = reinterpret_cast<const timespec*>(d);
            wait_for_events(static_cast<int>(a), limit == nullptr ? for_ever : after(to_ns(*limit)));
            return __real_epoll_wait(static_cast<int>(a), reinterpret_cast<epoll_event*>(b), static_cast<int>(c), 0);
        }
        default:
            break;
    }
    return __real_syscall(number, a, b, c, d, e, f);
}

int __wrap_epoll_wait(int epoll, epoll_event* events, int most, int timeout_ms) {
    if (self() != nullptr) {
        step();
        if (timeout_ms != 0) {
            wait_for_events(epoll, timeout_ms < 0 ? for_ever : after(int64_t{timeout_ms} * 1'000'000));
            timeout_ms = 0;
        }
    }
    return __real_epoll_wait(epoll, events, most, timeout_ms);
}

int __wrap_clock_gettime(clockid_t which, timespec* t) {
    if (self() == nullptr || (which != CLOCK_MONOTONIC && which != CLOCK_REALTIME))
        return __real_clock_gettime(which, t);
    const int64_t now = virtual_ns();
    *t = {.tv_sec = now / second_ns, .tv_nsec = now % second_ns};
    return 0;
}

int __wrap_clock_nanosleep(clockid_t, int flags, const timespec* t, timespec*) {
    step();
    const int64_t ns = to_ns(*t);
    wait_for_time((flags & TIMER_ABSTIME) != 0 ? ns : after(ns));
    return 0;
}

int __wrap_nanosleep(const timespec* t, timespec*) { return __wrap_clock_nanosleep(CLOCK_MONOTONIC, 0, t, nullptr); }

int __wrap_sched_yield() {
    give_turn();
    return 0;
}

int __wrap_sched_getaffinity(pid_t pid, size_t size, cpu_set_t* set) {
    if (self() == nullptr) return __real_sched_getaffinity(pid, size, set);
    CPU_ZERO_S(size, set);
    for (int i = 0; i != 4; ++i) CPU_SET_S(i, size, set);
    return 0;
}

int __wrap_sched_setaffinity(pid_t, size_t, const cpu_set_t*) { return 0; }

}  // extern "C"

// std::chrono::steady_clock::now()
extern "C" int64_t __real__ZNSt6chrono3_V212steady_clock3nowEv();

extern "C" int64_t __wrap__ZNSt6chrono3_V212steady_clock3nowEv() {
    return self() == nullptr ? __real__ZNSt6chrono3_V212steady_clock3nowEv() : virtual_ns();
}
