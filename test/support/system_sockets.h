// system_sockets.h: sockets by calls of the system, for code that must use nothing of what it
// tests.
//
// Descriptors are ints, as in weft::net: on Windows, the value of a SOCKET. The calls are those of
// the same name; what differs between systems has a name of its own.
#pragma once

#if defined(_WIN32)
#include <winsock2.h>
#include <ws2tcpip.h>
#else
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>
#endif

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace weft::test::sys {

#if defined(_WIN32)

using poll_entry = WSAPOLLFD;
using option_value = const char*;
using call_size = int;

inline constexpr int send_flags = 0;
inline constexpr int send_side = SD_SEND;

inline SOCKET handle(int fd) { return static_cast<SOCKET>(static_cast<intptr_t>(fd)); }

inline int close(int fd) { return ::closesocket(handle(fd)); }

// Whether the last call failed because it would have to wait, or was interrupted.
inline bool may_try_again() { return WSAGetLastError() == WSAEWOULDBLOCK || WSAGetLastError() == WSAEINTR; }

inline bool is_full() { return WSAGetLastError() == WSAEWOULDBLOCK; }

inline bool set_nonblocking(int fd) {
    u_long on = 1;
    return ::ioctlsocket(handle(fd), static_cast<long>(FIONBIO), &on) == 0;
}

// Programs that are started do not inherit it.
inline int socket(int domain, int type) {
    WSADATA data;
    static const bool begun = WSAStartup(MAKEWORD(2, 2), &data) == 0;
    if (!begun) return -1;
    return static_cast<int>(WSASocketW(domain, type, 0, nullptr, 0, WSA_FLAG_OVERLAPPED | WSA_FLAG_NO_HANDLE_INHERIT));
}

inline int accept(int fd) { return static_cast<int>(::accept(handle(fd), nullptr, nullptr)); }

inline void poll(std::vector<poll_entry>& all, std::chrono::nanoseconds most) {
    const auto ms = std::chrono::ceil<std::chrono::milliseconds>(std::max(most, std::chrono::nanoseconds(0))).count();
    ::WSAPoll(all.data(), static_cast<ULONG>(all.size()), static_cast<int>(ms));
}

#else

using poll_entry = pollfd;
using option_value = const void*;
using call_size = std::size_t;

inline constexpr int send_flags = MSG_NOSIGNAL;
inline constexpr int send_side = SHUT_WR;

inline int handle(int fd) { return fd; }

inline int close(int fd) { return ::close(fd); }

// Whether the last call failed because it would have to wait, or was interrupted.
inline bool may_try_again() { return errno == EAGAIN || errno == EINTR; }

inline bool is_full() { return errno == EAGAIN; }

inline bool set_nonblocking(int fd) { return ::fcntl(fd, F_SETFL, O_NONBLOCK) == 0; }

// Programs that are started do not inherit it.
inline int socket(int domain, int type) { return ::socket(domain, type | SOCK_CLOEXEC, 0); }

inline int accept(int fd) { return ::accept4(fd, nullptr, nullptr, SOCK_CLOEXEC); }

inline void poll(std::vector<poll_entry>& all, std::chrono::nanoseconds most) {
    const int64_t ns = std::max<int64_t>(most.count(), 0);
    const timespec left{.tv_sec = ns / 1'000'000'000, .tv_nsec = ns % 1'000'000'000};
    ::ppoll(all.data(), all.size(), &left, nullptr);
}

#endif

inline poll_entry entry(int fd, short events) {
    poll_entry e{};
    e.fd = handle(fd);
    e.events = events;
    return e;
}

// Returns whether the option was set.
template <typename T>
bool set_option(int fd, int level, int name, const T& value) {
    return ::setsockopt(handle(fd), level, name, reinterpret_cast<option_value>(&value), sizeof(value)) == 0;
}

inline std::ptrdiff_t recv(int fd, void* into, std::size_t size) {
    return ::recv(handle(fd), static_cast<char*>(into), static_cast<call_size>(size), 0);
}

// Of a socket whose peer has gone: an error, and no signal.
inline std::ptrdiff_t send(int fd, const void* from, std::size_t size) {
    return ::send(handle(fd), static_cast<const char*>(from), static_cast<call_size>(size), send_flags);
}

inline std::ptrdiff_t recv_from(int fd, void* into, std::size_t size, sockaddr_in& from) {
    socklen_t from_size = sizeof(from);
    return ::recvfrom(handle(fd), static_cast<char*>(into), static_cast<call_size>(size), 0,
                      reinterpret_cast<sockaddr*>(&from), &from_size);
}

inline std::ptrdiff_t send_to(int fd, const void* from, std::size_t size, const sockaddr_in& to) {
    return ::sendto(handle(fd), static_cast<const char*>(from), static_cast<call_size>(size), send_flags,
                    reinterpret_cast<const sockaddr*>(&to), sizeof(to));
}

inline int shutdown_sending(int fd) { return ::shutdown(handle(fd), send_side); }

inline void close_with_reset(int fd) {
    linger at_once{};
    at_once.l_onoff = 1;
    set_option(fd, SOL_SOCKET, SO_LINGER, at_once);
    close(fd);
}

// Two connected stream sockets of the loopback device, or {-1, -1}.
struct connected_pair {
    int one = -1;
    int other = -1;
};

inline connected_pair connect_pair() {
    const int listener = socket(AF_INET, SOCK_STREAM);
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(at);
    connected_pair pair{socket(AF_INET, SOCK_STREAM), -1};
    if (::bind(handle(listener), reinterpret_cast<sockaddr*>(&at), size) == 0 && ::listen(handle(listener), 1) == 0 &&
        ::getsockname(handle(listener), reinterpret_cast<sockaddr*>(&at), &size) == 0 &&
        ::connect(handle(pair.one), reinterpret_cast<sockaddr*>(&at), size) == 0)
        pair.other = accept(listener);
    close(listener);
    return pair;
}

}  // namespace weft::test::sys
