// pump_windows.cc: see pump_windows.h.
#include "os/pump_windows.h"

#include <cerrno>
#include <new>

#include "os/std_handles.h"
#include "os/windows_errors.h"

namespace weft::detail::os {

namespace {

constexpr int at_once = 64 * 1024;

int socket_error() noexcept { return -error_number(static_cast<DWORD>(WSAGetLastError())); }

// As dup(), but blocking; the socket that it is made of is no longer used.
int duplicate(int socket, SOCKET& made) noexcept {
    WSAPROTOCOL_INFOW about{};
    if (WSADuplicateSocketW(to_socket(socket), GetCurrentProcessId(), &about) != 0) return socket_error();
    made = WSASocketW(FROM_PROTOCOL_INFO, FROM_PROTOCOL_INFO, FROM_PROTOCOL_INFO, &about, 0,
                      WSA_FLAG_OVERLAPPED | WSA_FLAG_NO_HANDLE_INHERIT);
    if (made == INVALID_SOCKET) return socket_error();
    u_long nonblocking = 0;
    return ioctlsocket(made, static_cast<long>(FIONBIO), &nonblocking) == 0 ? 0 : socket_error();
}

bool write_whole(HANDLE pipe, const char* from, int size) noexcept {
    for (DWORD done = 0; done < static_cast<DWORD>(size);) {
        DWORD wrote = 0;
        if (WriteFile(pipe, from + done, static_cast<DWORD>(size) - done, &wrote, nullptr) == 0) return false;
        done += wrote;
    }
    return true;
}

bool send_whole(SOCKET socket, const char* from, int size) noexcept {
    for (int done = 0; done < size;) {
        const int sent = ::send(socket, from + done, size - done, 0);
        if (sent <= 0) return false;
        done += sent;
    }
    return true;
}

}  // namespace

int pump::open(int socket, bool program_reads, HANDLE& of_program) noexcept {
    auto* e = new (std::nothrow) ends{INVALID_SOCKET, nullptr, program_reads};
    if (e == nullptr) return -ENOMEM;
    ends_ = e;
    if (const int result = duplicate(socket, e->socket); result < 0) return result;
    HANDLE reads = nullptr;
    HANDLE writes = nullptr;
    if (CreatePipe(&reads, &writes, nullptr, at_once) == 0) return -last_error_number();
    e->pipe = program_reads ? writes : reads;
    of_program = program_reads ? reads : writes;
    return SetHandleInformation(of_program, HANDLE_FLAG_INHERIT, HANDLE_FLAG_INHERIT) != 0 ? 0 : -last_error_number();
}

pump::~pump() {
    if (ends_ == nullptr) return;
    if (ends_->socket != INVALID_SOCKET) closesocket(ends_->socket);
    if (ends_->pipe != nullptr) CloseHandle(ends_->pipe);
    delete ends_;
}

// It uses nothing of winpthreads, which therefore keeps no record of it (os_windows.cc).
int pump::start() noexcept {
    constexpr SIZE_T stack_size = 128 * 1024;
    HANDLE thread = CreateThread(nullptr, stack_size, &run, ends_, STACK_SIZE_PARAM_IS_A_RESERVATION, nullptr);
    if (thread == nullptr) return -last_error_number();
    CloseHandle(thread);
    ends_ = nullptr;
    return 0;
}

void pump::move_all(const ends& e) noexcept {
    auto* bytes = static_cast<char*>(HeapAlloc(GetProcessHeap(), 0, at_once));
    if (bytes == nullptr) return;
    for (bool more = true; more;) {
        if (e.to_program) {
            const int got = ::recv(e.socket, bytes, at_once, 0);
            more = got > 0 && write_whole(e.pipe, bytes, got);
        } else {
            DWORD got = 0;
            // A write of no bytes at the other end ends a read, too.
            more = ReadFile(e.pipe, bytes, at_once, &got, nullptr) != 0 &&
                   (got == 0 || send_whole(e.socket, bytes, static_cast<int>(got)));
        }
    }
    HeapFree(GetProcessHeap(), 0, bytes);
}

DWORD WINAPI pump::run(void* given) {
    pump own;
    own.ends_ = static_cast<ends*>(given);
    move_all(*own.ends_);
    return 0;
}

}  // namespace weft::detail::os
