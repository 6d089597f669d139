// afd_windows.cc: the backend for Windows: requests to AFD, the driver of sockets, that complete on
// an I/O completion port.
//
// Problem. Windows has no call that waits for thousands of sockets until one is ready: WSAPoll and
// select look at each, WSAEventSelect has an event for each and waits for 64, and a completion port
// tells the end of operations. But the driver behind WSAPoll completes its poll requests like any
// operation. libuv, wepoll (of libzmq and others) and mio use that; it is not documented.
//
// Protocol. Each socket has two requests of one shot, one for reading, one for writing:
//
//             add, or a call would block         AFD completes it
//      idle ─────────────────────────────▶ armed ───────────────▶ idle, event reported
//
// 1. add() arms both. AFD completes a request at once if its condition holds already.
// 2. wait() takes completions from the port. A request that has completed is idle, so the same
//    state of the socket is not reported again: that makes an edge of AFD's levels.
// 3. A socket call that fails with EAGAIN, or moves less than asked, has used up the state. It arms
//    the request again (os/would_block_windows.h). What comes between completes the request.
// 4. remove() cancels both. AFD writes to a request until it completes, so the last completion
//    frees the memory.
//
// Only sockets can be added: for others AFD refuses the request, and add() returns EPERM.
//
// interrupt() posts a packet to the port, which one wait() takes. Timeouts are rounded up to
// milliseconds.
//
// Rejected: Zero-byte receives that complete: they take no data, but a datagram is lost or an error
//           comes, and connections that arrive need AcceptEx with a socket made before.
//           Registered waits of the thread pool: a thread for each 63 sockets.
//
// Locks:   lock_ (leaf) guards the table and the states.
// Threads: see backend.h.
#include <winternl.h>

#include <cerrno>
#include <cstdint>
#include <memory>
#include <new>

#include <weft/detail/wait.h>

#include "base/assert.h"
#include "base/time_units.h"
#include "os/os.h"
#include "os/std_handles.h"
#include "os/windows_api.h"
#include "os/windows_errors.h"
#include "os/would_block_windows.h"
#include "poll/backend.h"

extern "C" NTSTATUS NTAPI NtCancelIoFileEx(HANDLE file, IO_STATUS_BLOCK* request, IO_STATUS_BLOCK* result);

namespace weft::detail {

namespace {

// The driver's interface.
constexpr ULONG afd_poll = 0x00012024;
constexpr ULONG afd_receive = 0x1;
constexpr ULONG afd_receive_urgent = 0x2;
constexpr ULONG afd_send = 0x4;
constexpr ULONG afd_disconnect = 0x8;
constexpr ULONG afd_abort = 0x10;
constexpr ULONG afd_local_close = 0x20;
constexpr ULONG afd_accept = 0x80;
constexpr ULONG afd_connect_failed = 0x100;

struct afd_poll_socket {
    HANDLE socket;
    ULONG events;
    NTSTATUS status;
};

struct afd_poll_request {
    LARGE_INTEGER timeout;
    ULONG count;
    ULONG exclusive;
    afd_poll_socket sockets[1];
};

constexpr ULONG read_events =
    afd_receive | afd_receive_urgent | afd_disconnect | afd_abort | afd_accept | afd_connect_failed;
constexpr ULONG write_events = afd_send | afd_abort | afd_connect_failed;

constexpr DWORD socket_below_layers = 0x48000022;  // SIO_BASE_HANDLE
constexpr NTSTATUS status_success = 0;
constexpr NTSTATUS status_pending = 0x103;
constexpr ULONG_PTR key_of_requests = 1;
constexpr ULONG_PTR key_of_interrupts = 2;

struct watched;

struct request {
    IO_STATUS_BLOCK status;
    afd_poll_request data;
    watched* of;
    ULONG events;
    bool armed;
};

struct watched {
    watched* next;  // in the table
    int fd;
    HANDLE socket;  // below layers that other programs put on sockets
    uint64_t token;
    bool removed;
    request reads;
    request writes;
};

HANDLE base_of(int fd) noexcept {
    SOCKET base = INVALID_SOCKET;
    DWORD size = 0;
    const int result =
        WSAIoctl(os::to_socket(fd), socket_below_layers, nullptr, 0, &base, sizeof(base), &size, nullptr, nullptr);
    return result == 0 && base != INVALID_SOCKET ? reinterpret_cast<HANDLE>(base) : os::to_handle(fd);  // NOLINT
}

class afd_backend;
constinit SRWLOCK backends_lock = SRWLOCK_INIT;
constinit afd_backend* backends = nullptr;

class afd_backend final : public poll_backend {
public:
    ~afd_backend() override {
        AcquireSRWLockExclusive(&backends_lock);
        for (afd_backend** link = &backends; *link != nullptr; link = &(*link)->next_) {
            if (*link != this) continue;
            *link = next_;
            break;
        }
        ReleaseSRWLockExclusive(&backends_lock);
        // Requests end with the handle, and their memory must outlive them.
        for (watched*& first : table_) {
            while (watched* w = first) remove(w->fd);
        }
        drain();
        if (afd_ != nullptr) CloseHandle(afd_);
        if (port_ != nullptr) CloseHandle(port_);
    }

    int open() noexcept override {
        port_ = CreateIoCompletionPort(INVALID_HANDLE_VALUE, nullptr, 0, 0);
        if (port_ == nullptr) return os::last_error_number();
        static constexpr wchar_t device[] = L"\\Device\\Afd\\weft";
        UNICODE_STRING name{sizeof(device) - sizeof(wchar_t), sizeof(device), const_cast<wchar_t*>(device)};
        OBJECT_ATTRIBUTES attributes{};
        attributes.Length = sizeof(attributes);
        attributes.ObjectName = &name;
        IO_STATUS_BLOCK status{};
        const NTSTATUS opened = NtCreateFile(&afd_, SYNCHRONIZE, &attributes, &status, nullptr, 0,
                                             FILE_SHARE_READ | FILE_SHARE_WRITE, FILE_OPEN, 0, nullptr, 0);
        if (opened != status_success) return os::error_number(RtlNtStatusToDosError(opened));
        if (CreateIoCompletionPort(afd_, port_, key_of_requests, 0) == nullptr) return os::last_error_number();
        AcquireSRWLockExclusive(&backends_lock);
        next_ = backends;
        backends = this;
        ReleaseSRWLockExclusive(&backends_lock);
        os::would_block_hook.store(&tell_all, release);  // pairs with tell_would_block
        return 0;
    }

    int add(int fd, uint64_t token) noexcept override {
        auto* w = new (std::nothrow) watched{};
        if (w == nullptr) return ENOMEM;
        w->fd = fd;
        w->socket = base_of(fd);
        w->token = token;
        w->reads.of = w->writes.of = w;
        w->reads.events = read_events;
        w->writes.events = write_events;
        AcquireSRWLockExclusive(&lock_);
        int error = find_locked(fd) != nullptr ? EEXIST : 0;
        if (error == 0) error = arm_locked(w->reads);
        if (error == EBADF && GetFileType(os::to_handle(fd)) != FILE_TYPE_UNKNOWN) error = EPERM;  // no socket
        if (error != 0) {
            ReleaseSRWLockExclusive(&lock_);
            delete w;
            return error;
        }
        error = arm_locked(w->writes);
        w->next = slot_of(fd);
        slot_of(fd) = w;
        ReleaseSRWLockExclusive(&lock_);
        if (error != 0) remove(fd);
        return error;
    }

    void remove(int fd) noexcept override {
        AcquireSRWLockExclusive(&lock_);
        watched** link = &slot_of(fd);
        while (*link != nullptr && (*link)->fd != fd) link = &(*link)->next;
        watched* w = *link;
        bool unused = false;
        if (w != nullptr) {
            *link = w->next;
            w->removed = true;
            for (request* r : {&w->reads, &w->writes}) {
                IO_STATUS_BLOCK ignored{};
                if (r->armed) static_cast<void>(NtCancelIoFileEx(afd_, &r->status, &ignored));
            }
            unused = !w->reads.armed && !w->writes.armed;
        }
        ReleaseSRWLockExclusive(&lock_);
        if (unused) delete w;
    }

    uint32_t wait(poll_event* events, int64_t deadline_ns) noexcept override {
        OVERLAPPED_ENTRY done[poll_batch];
        ULONG count = 0;
        if (GetQueuedCompletionStatusEx(port_, done, poll_batch, &count, time_to(deadline_ns), FALSE) == 0) return 0;
        uint32_t kept = 0;
        for (ULONG i = 0; i < count; ++i) {
            if (done[i].lpCompletionKey == key_of_interrupts) {
                if (deadline_ns == 0) interrupt();
            } else if (finish(*reinterpret_cast<request*>(done[i].lpOverlapped), events[kept])) {
                ++kept;
            }
        }
        return kept;
    }

    void interrupt() noexcept override { PostQueuedCompletionStatus(port_, 0, key_of_interrupts, nullptr); }

private:
    static constexpr std::size_t table_size = 1024;

    watched*& slot_of(int fd) noexcept { return table_[static_cast<unsigned>(fd) / 4 % table_size]; }

    watched* find_locked(int fd) noexcept {
        watched* w = slot_of(fd);
        while (w != nullptr && w->fd != fd) w = w->next;
        return w;
    }

    static DWORD time_to(int64_t deadline_ns) noexcept {
        if (deadline_ns == 0) return 0;
        if (deadline_ns == never) return INFINITE;
        constexpr int64_t longest_ms = INT32_MAX;
        const int64_t left_ns = deadline_ns - os::monotonic_ns();
        if (left_ns <= 0) return 0;
        const int64_t left_ms = (left_ns + ns_per_ms - 1) / ns_per_ms;
        return static_cast<DWORD>(left_ms < longest_ms ? left_ms : longest_ms);
    }

    // Returns errno's value.
    int arm_locked(request& r) noexcept {
        if (r.armed) return 0;
        r.data = {};
        r.data.timeout.QuadPart = INT64_MAX;
        r.data.count = 1;
        r.data.sockets[0] = {r.of->socket, r.events | afd_local_close, 0};
        r.status = {};
        const NTSTATUS status = NtDeviceIoControlFile(afd_, nullptr, nullptr, &r, &r.status, afd_poll, &r.data,
                                                      sizeof(r.data), &r.data, sizeof(r.data));
        if (status == status_success || status == status_pending) {
            r.armed = true;  // completes on the port in both cases
            return 0;
        }
        const int error = os::error_number(RtlNtStatusToDosError(status));
        return error == EBADF || error == ENOMEM ? error : EPERM;
    }

    // A request has completed. Returns whether there is an event.
    bool finish(request& r, poll_event& event) noexcept {
        AcquireSRWLockExclusive(&lock_);
        watched* w = r.of;
        r.armed = false;
        uint32_t what = 0;
        if (!w->removed && r.status.Status == status_success && r.data.count > 0)
            what = meaning(r.data.sockets[0].events);
        event = {w->token, what};
        const bool unused = w->removed && !w->reads.armed && !w->writes.armed;
        ReleaseSRWLockExclusive(&lock_);
        if (unused) delete w;
        return what != 0;
    }

    static uint32_t meaning(ULONG events) noexcept {
        uint32_t what = 0;
        if ((events & (afd_receive | afd_accept)) != 0) what |= poll_bits::readable;
        if ((events & afd_send) != 0) what |= poll_bits::writable;
        if ((events & (afd_receive_urgent | afd_disconnect | afd_abort | afd_connect_failed)) != 0)
            what |= poll_bits::hung_up;
        return what;
    }

    // Step 3.
    void rearm(int fd, uint32_t what) noexcept {
        AcquireSRWLockExclusive(&lock_);
        if (watched* w = find_locked(fd)) {
            if ((what & poll_bits::readable) != 0) static_cast<void>(arm_locked(w->reads));
            if ((what & poll_bits::writable) != 0) static_cast<void>(arm_locked(w->writes));
        }
        ReleaseSRWLockExclusive(&lock_);
    }

    static void tell_all(int fd, uint32_t what) noexcept {
        AcquireSRWLockShared(&backends_lock);
        for (afd_backend* b = backends; b != nullptr; b = b->next_) b->rearm(fd, what);
        ReleaseSRWLockShared(&backends_lock);
    }

    // Takes the completions of cancelled requests, so that their memory can be freed.
    void drain() noexcept {
        constexpr int64_t patience_ns = 100'000'000;
        poll_event events[poll_batch];
        OVERLAPPED_ENTRY done[poll_batch];
        ULONG count = 0;
        const int64_t until_ns = os::monotonic_ns() + patience_ns;
        while (port_ != nullptr && os::monotonic_ns() < until_ns &&
               GetQueuedCompletionStatusEx(port_, done, poll_batch, &count, 1, FALSE) != 0) {
            for (ULONG i = 0; i < count; ++i) {
                if (done[i].lpCompletionKey == key_of_requests)
                    finish(*reinterpret_cast<request*>(done[i].lpOverlapped), events[0]);
            }
        }
    }

    HANDLE port_ = nullptr;
    HANDLE afd_ = nullptr;
    afd_backend* next_ = nullptr;  // Guarded by backends_lock.
    SRWLOCK lock_ = SRWLOCK_INIT;
    watched* table_[table_size] = {};
};

}  // namespace

std::unique_ptr<poll_backend> make_poll_backend() noexcept {
    return std::unique_ptr<poll_backend>(new (std::nothrow) afd_backend);
}

}  // namespace weft::detail
