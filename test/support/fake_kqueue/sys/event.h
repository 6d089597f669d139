// sys/event.h: the part of kqueue that src/poll/kqueue.h uses, for systems without it. Names and
// types are FreeBSD's, from kqueue(2); the numbers are not. Implemented over epoll in
// fake_kqueue.cc.
#pragma once

#include <cstdint>
#include <ctime>

struct kevent {
    uintptr_t ident;
    int16_t filter;
    uint16_t flags;
    uint32_t fflags;
    int64_t data;
    void* udata;
};

inline constexpr int16_t EVFILT_READ = -1;
inline constexpr int16_t EVFILT_WRITE = -2;
inline constexpr int16_t EVFILT_USER = -11;

inline constexpr uint16_t EV_ADD = 0x0001;
inline constexpr uint16_t EV_DELETE = 0x0002;
inline constexpr uint16_t EV_ENABLE = 0x0004;
inline constexpr uint16_t EV_CLEAR = 0x0020;
inline constexpr uint16_t EV_ERROR = 0x4000;
inline constexpr uint16_t EV_EOF = 0x8000;

inline constexpr uint32_t NOTE_TRIGGER = 0x01000000;

inline void EV_SET(
    struct kevent* e, uintptr_t ident, int16_t filter, uint16_t flags, uint32_t fflags, int64_t data, void* udata) {
    *e = {ident, filter, flags, fflags, data, udata};
}

int kqueue();
int kevent(int queue,
           const struct kevent* changes,
           int change_count,
           struct kevent* events,
           int event_count,
           const timespec* timeout);
