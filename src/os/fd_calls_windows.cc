// fd_calls_windows.cc: see fd_calls.h, std_handles.h and would_block_windows.h.
//
// Windows has no descriptors that pass from process to process in a message, no socket pairs, and
// no credentials of the peer: these fail with EOPNOTSUPP.
#include <cerrno>

#include "os/fault_injection.h"
#include "os/fd_calls.h"
#include "os/file_calls.h"
#include "os/never_inlined.h"
#include "os/sockets.h"
#include "os/std_handles.h"
#include "os/windows_errors.h"
#include "os/would_block_windows.h"

namespace weft::detail::os {

constinit atomic<would_block_function> would_block_hook{nullptr};

void start_sockets() noexcept {
    static const int started = [] {
        constexpr WORD version = 0x0202;
        WSADATA about;
        return WSAStartup(version, &about);
    }();
    static_cast<void>(started);  // a failure is that of each later call
}

namespace {

constexpr std::size_t pieces_most = 64;  // of one call; the caller goes on with the others

int socket_error() noexcept { return -error_number(static_cast<DWORD>(WSAGetLastError())); }

// Returns result, or minus errno's value; tells the poller that the socket was not ready.
ssize_t finish(int fd, int result, DWORD moved, uint32_t waits_for) noexcept {
    if (result == 0) return static_cast<ssize_t>(moved);
    const int error = socket_error();
    if (error == -EAGAIN) tell_would_block(fd, waits_for);
    return error;
}

struct pieces {
    pieces(const iovec* of, std::size_t count) noexcept {
        for (std::size_t i = 0; i < count && i < pieces_most; ++i) {
            all[i].buf = static_cast<char*>(of[i].iov_base);
            all[i].len = static_cast<ULONG>(of[i].iov_len < INT32_MAX ? of[i].iov_len : INT32_MAX);
            size += all[i].len;
            ++used;
            if (all[i].len != of[i].iov_len) break;
        }
    }

    WSABUF all[pieces_most];
    DWORD used = 0;
    std::size_t size = 0;
};

}  // namespace

WEFT_OS_CALL ssize_t socket_receive_many(int fd, const iovec* into, std::size_t count) noexcept {
    if (const int error = injected_failure(failure::receive); error != 0) return -error;
    pieces p(into, count);
    DWORD moved = 0;
    DWORD flags = 0;
    const int result = WSARecv(to_socket(fd), p.all, p.used, &moved, &flags, nullptr, nullptr);
    if (result == 0 && moved < p.size) tell_would_block(fd, would_read);
    return finish(fd, result, moved, would_read);
}

WEFT_OS_CALL ssize_t socket_send_many(int fd, const iovec* from, std::size_t count) noexcept {
    if (const int error = injected_failure(failure::send); error != 0) return -error;
    pieces p(from, count);
    DWORD moved = 0;
    const int result = WSASend(to_socket(fd), p.all, p.used, &moved, 0, nullptr, nullptr);
    if (result == 0 && moved < p.size) tell_would_block(fd, would_write);
    return finish(fd, result, moved, would_write);
}

WEFT_OS_CALL ssize_t socket_receive(int fd, void* into, std::size_t size) noexcept {
    const iovec one{into, size};
    return socket_receive_many(fd, &one, 1);
}

WEFT_OS_CALL ssize_t socket_send(int fd, const void* from, std::size_t size) noexcept {
    const iovec one{const_cast<void*>(from), size};  // only read
    return socket_send_many(fd, &one, 1);
}

// By pieces, with a read in between: TransmitFile would wait.
WEFT_OS_CALL ssize_t send_file(int socket, int file, int64_t& offset, std::size_t count) noexcept {
    char piece[16 * 1024];
    OVERLAPPED at{};
    at.Offset = static_cast<DWORD>(offset);
    at.OffsetHigh = static_cast<DWORD>(offset >> 32);
    DWORD got = 0;
    const auto wanted = static_cast<DWORD>(count < sizeof(piece) ? count : sizeof(piece));
    if (ReadFile(to_handle(file), piece, wanted, &got, &at) == 0) {
        const DWORD error = GetLastError();
        return error == ERROR_HANDLE_EOF ? 0 : -error_number(error);
    }
    const ssize_t sent = socket_send(socket, piece, got);
    if (sent > 0) offset += sent;
    return sent;
}

WEFT_OS_CALL ssize_t
socket_send_to(int fd, const void* data, std::size_t size, const sockaddr* to, uint32_t to_size) noexcept {
    if (const int error = injected_failure(failure::send); error != 0) return -error;
    const iovec one{const_cast<void*>(data), size};  // only read
    pieces p(&one, 1);
    DWORD moved = 0;
    const int result =
        WSASendTo(to_socket(fd), p.all, p.used, &moved, 0, to, static_cast<int>(to_size), nullptr, nullptr);
    return finish(fd, result, moved, would_write);
}

WEFT_OS_CALL ssize_t
socket_receive_from(int fd, void* into, std::size_t size, sockaddr* from, uint32_t& from_size, bool& cut) noexcept {
    if (const int error = injected_failure(failure::receive); error != 0) return -error;
    const iovec one{into, size};
    pieces p(&one, 1);
    DWORD moved = 0;
    DWORD flags = 0;
    auto length = static_cast<int>(from_size);
    const int result = WSARecvFrom(to_socket(fd), p.all, p.used, &moved, &flags, from,
                                   from == nullptr ? nullptr : &length, nullptr, nullptr);
    from_size = static_cast<uint32_t>(length);
    cut = result != 0 && WSAGetLastError() == WSAEMSGSIZE;
    return cut ? static_cast<ssize_t>(size) : finish(fd, result, moved, would_read);
}

WEFT_OS_CALL ssize_t socket_receive_dropping_files(int fd,
                                                   const iovec* into,
                                                   std::size_t count,
                                                   bool& stopped) noexcept {
    stopped = false;
    return socket_receive_many(fd, into, count);
}

bool has_abstract_names() noexcept { return false; }

ssize_t socket_send_files(int /*fd*/, const void* /*data*/, std::size_t, const int* /*files*/, std::size_t) noexcept {
    return -EOPNOTSUPP;
}

ssize_t socket_receive_files(int, void*, std::size_t, int*, std::size_t& count, bool& /*cut*/) noexcept {
    count = 0;
    return -EOPNOTSUPP;
}

WEFT_OS_CALL int socket_make(int family, int type, int protocol) noexcept {
    if (const int error = injected_failure(failure::socket); error != 0) return -error;
    start_sockets();
    const SOCKET made =
        WSASocketW(family, type, protocol, nullptr, 0, WSA_FLAG_OVERLAPPED | WSA_FLAG_NO_HANDLE_INHERIT);
    if (made == INVALID_SOCKET) return socket_error();
    if (const int result = make_nonblocking(to_fd(made)); result < 0) {
        closesocket(made);
        return result;
    }
    return to_fd(made);
}

WEFT_OS_CALL int socket_accept(int fd) noexcept {
    if (const int error = injected_failure(failure::accept); error != 0) return -error;
    const SOCKET made = ::accept(to_socket(fd), nullptr, nullptr);
    if (made == INVALID_SOCKET) return static_cast<int>(finish(fd, SOCKET_ERROR, 0, would_read));
    SetHandleInformation(reinterpret_cast<HANDLE>(made), HANDLE_FLAG_INHERIT, 0);  // NOLINT
    if (const int result = make_nonblocking(to_fd(made)); result < 0) {
        closesocket(made);
        return result;
    }
    return to_fd(made);
}

// A connection that is under way is EINPROGRESS, as elsewhere.
WEFT_OS_CALL int socket_connect(int fd, const sockaddr* to, uint32_t to_size) noexcept {
    if (const int error = injected_failure(failure::connect); error != 0) return -error;
    if (::connect(to_socket(fd), to, static_cast<int>(to_size)) == 0) return 0;
    const int error = socket_error();
    if (error != -EAGAIN) return error;
    tell_would_block(fd, would_write);
    return -EINPROGRESS;
}

WEFT_OS_CALL int socket_bind(int fd, const sockaddr* to, uint32_t to_size) noexcept {
    if (const int error = injected_failure(failure::bind); error != 0) return -error;
    return ::bind(to_socket(fd), to, static_cast<int>(to_size)) == 0 ? 0 : socket_error();
}

WEFT_OS_CALL int socket_listen(int fd, int backlog) noexcept {
    if (const int error = injected_failure(failure::listen); error != 0) return -error;
    return ::listen(to_socket(fd), backlog) == 0 ? 0 : socket_error();
}

WEFT_OS_CALL int socket_shut(int fd, int how) noexcept {
    return ::shutdown(to_socket(fd), how) == 0 ? 0 : socket_error();
}

int socket_pair(int /*type*/, int (& /*fds*/)[2]) noexcept { return -EOPNOTSUPP; }

namespace {

// The socket has no peer. Returns whether a connection is still under way; then the poller looks
// again. One that was made and reset has no peer, either, and SO_ERROR need not tell it.
bool is_connecting(int fd) noexcept {
    char any = 0;
    if (::recv(to_socket(fd), &any, 1, MSG_PEEK) >= 0 || WSAGetLastError() != WSAENOTCONN) return false;
    tell_would_block(fd, would_write);
    return true;
}

}  // namespace

WEFT_OS_CALL int socket_name(int fd, bool of_peer, sockaddr* name, uint32_t& size) noexcept {
    auto length = static_cast<int>(size);
    const int result =
        of_peer ? ::getpeername(to_socket(fd), name, &length) : ::getsockname(to_socket(fd), name, &length);
    size = static_cast<uint32_t>(length);
    if (result == 0) return 0;
    const int error = socket_error();
    return of_peer && error == -ENOTCONN && !is_connecting(fd) ? -ECONNRESET : error;
}

// To Windows, SO_REUSEADDR on a listener permits others to take its port. A port in TIME_WAIT can
// be bound without it.
WEFT_OS_CALL int socket_option(int fd, int level, int option, const void* value, uint32_t size) noexcept {
    if (const int error = injected_failure(failure::socket_option); error != 0) return -error;
    int type = 0;
    if (level == SOL_SOCKET && option == SO_REUSEADDR && socket_option_of(fd, SOL_SOCKET, SO_TYPE, type) == 0 &&
        type == SOCK_STREAM)
        option = SO_EXCLUSIVEADDRUSE;
    const int result =
        ::setsockopt(to_socket(fd), level, option, static_cast<const char*>(value), static_cast<int>(size));
    return result == 0 ? 0 : socket_error();
}

int socket_option(int fd, int level, int option, int value) noexcept {
    return socket_option(fd, level, option, &value, sizeof(value));
}

// Errors of a connection are numbers of Windows.
WEFT_OS_CALL int socket_option_of(int fd, int level, int option, int& value) noexcept {
    int size = sizeof(value);
    if (::getsockopt(to_socket(fd), level, option, reinterpret_cast<char*>(&value), &size) != 0) return socket_error();
    if (level == SOL_SOCKET && option == SO_ERROR) value = error_number(static_cast<DWORD>(value));
    return 0;
}

WEFT_OS_CALL int socket_family(int fd, int& family) noexcept {
    WSAPROTOCOL_INFOW about{};
    int size = sizeof(about);
    if (::getsockopt(to_socket(fd), SOL_SOCKET, SO_PROTOCOL_INFOW, reinterpret_cast<char*>(&about), &size) != 0)
        return socket_error();
    family = about.iAddressFamily;
    return 0;
}

int tcp_idle_option() noexcept { return TCP_KEEPIDLE; }

int socket_peer(int /*fd*/, int64_t& /*pid*/, uint32_t& /*uid*/, uint32_t& /*gid*/) noexcept { return -EOPNOTSUPP; }

WEFT_OS_CALL int make_nonblocking(int fd) noexcept {
    u_long on = 1;
    return ::ioctlsocket(to_socket(fd), static_cast<long>(FIONBIO), &on) == 0 ? 0 : socket_error();
}

// Whatever it is: a socket is tried first, because CloseHandle leaves a part of one open.
WEFT_OS_CALL int fd_close(int fd) noexcept {
    if (::closesocket(to_socket(fd)) == 0) return 0;
    return CloseHandle(to_handle(fd)) != 0 ? 0 : -EBADF;
}

WEFT_OS_CALL int fd_poll(int fd, short events, short& ready) noexcept {
    WSAPOLLFD one{to_socket(fd), events, 0};
    const int result = WSAPoll(&one, 1, 0);
    if (result < 0) return socket_error();
    ready = one.revents;
    if (result == 0) tell_would_block(fd, (events & POLLOUT) != 0 ? would_write : would_read);
    return result;
}

int file_unlink(const char* path) noexcept { return path_unlink(path); }

}  // namespace weft::detail::os
