// process_calls_windows.cc: processes: see process_calls.h.
//
// The descriptor of a process is a socket. When the process ends, a thread of the system's pool
// closes the other end of its connection, which makes it readable for good.
//
// Windows has no signals between processes. SIGINT, SIGTERM and kill_signal end a process at once.
// Its exit code then has a mark and the signal, by which any process of ours knows how it ended.
//
// A process group is a job: it has what the program starts, and it can be ended as a whole after
// the program.
//
// The system forgets a process with its last handle, and keeps no zombies. So children that are
// left to themselves need no waiter: children_next returns each at once.
#include <cerrno>
#include <csignal>
#include <memory>
#include <new>
#include <string>
#include <utility>

#include "base/atomic.h"
#include "os/command_line_windows.h"
#include "os/fd_calls.h"
#include "os/loopback_pair_windows.h"
#include "os/never_inlined.h"
#include "os/process_calls.h"
#include "os/pump_windows.h"
#include "os/std_handles.h"
#include "os/windows_errors.h"
#include "os/would_block_windows.h"

namespace weft::detail::os {

namespace {

class owned_handle {
public:
    explicit owned_handle(HANDLE handle = nullptr) noexcept : handle_(handle) {}

    ~owned_handle() {
        if (handle_ != nullptr) CloseHandle(handle_);
    }

    owned_handle(const owned_handle&) = delete;
    owned_handle& operator=(const owned_handle&) = delete;

    [[nodiscard]] HANDLE get() const noexcept { return handle_; }

    [[nodiscard]] HANDLE* to_fill() noexcept { return &handle_; }

private:
    HANDLE handle_;
};

// A process that this one has started, until process_reap.
struct child_process {
    child_process() noexcept = default;

    ~child_process() {
        if (ended != nullptr) UnregisterWaitEx(ended, INVALID_HANDLE_VALUE);  // returns when no callback runs
        close_other_end();
    }

    child_process(const child_process&) = delete;
    child_process& operator=(const child_process&) = delete;

    void close_other_end() noexcept {
        const SOCKET socket = other_end.exchange(INVALID_SOCKET, relaxed_alone);
        if (socket != INVALID_SOCKET) closesocket(socket);
    }

    child_process* next = nullptr;  // in the list
    int descriptor = -1;
    atomic<SOCKET> other_end{INVALID_SOCKET};
    owned_handle process;
    owned_handle job;        // of the group that it leads
    HANDLE ended = nullptr;  // the registration for its end
    bool left = false;       // a member of the set of children
};

constinit SRWLOCK children_lock = SRWLOCK_INIT;
constinit child_process* children = nullptr;  // Guarded by children_lock.

class children_guard {
public:
    children_guard() noexcept { AcquireSRWLockExclusive(&children_lock); }

    ~children_guard() { ReleaseSRWLockExclusive(&children_lock); }

    children_guard(const children_guard&) = delete;
    children_guard& operator=(const children_guard&) = delete;
};

child_process* find_locked(int descriptor) noexcept {
    child_process* c = children;
    while (c != nullptr && c->descriptor != descriptor) c = c->next;
    return c;
}

// The mark in the exit code of a process that was ended in place of a signal.
constexpr DWORD ended_by_signal = 0x57460000;
constexpr DWORD mark_bits = 0xffff0000;

// Faults end a process with these codes.
int signal_of_fault(DWORD code) noexcept {
    constexpr int trap = 5;
    switch (code) {
        case EXCEPTION_ACCESS_VIOLATION:
        case EXCEPTION_STACK_OVERFLOW:
        case EXCEPTION_IN_PAGE_ERROR:
            return SIGSEGV;
        case EXCEPTION_ILLEGAL_INSTRUCTION:
        case EXCEPTION_PRIV_INSTRUCTION:
            return SIGILL;
        case EXCEPTION_INT_DIVIDE_BY_ZERO:
        case EXCEPTION_FLT_DIVIDE_BY_ZERO:
            return SIGFPE;
        case EXCEPTION_BREAKPOINT:
            return trap;
        case STATUS_STACK_BUFFER_OVERRUN:  // how abort() ends one with UCRT
            return SIGABRT;
        case CONTROL_C_EXIT:
            return SIGINT;
        default:
            return 0;
    }
}

process_end end_of_code(DWORD code) noexcept {
    if ((code & mark_bits) == ended_by_signal) return {0, static_cast<int>(code & ~mark_bits), false};
    if (const int signal = signal_of_fault(code); signal != 0) return {0, signal, false};
    return {static_cast<int>(code), 0, false};
}

// 0: Windows has nothing like it.
DWORD code_of_signal(int signal) noexcept {
    if (signal != SIGINT && signal != SIGTERM && signal != kill_signal) return 0;
    return ended_by_signal | static_cast<DWORD>(signal);
}

// Called by a thread of the pool. It must use nothing of winpthreads (os_windows.cc).
void CALLBACK has_ended(void* given, BOOLEAN /*timed_out*/) { static_cast<child_process*>(given)->close_other_end(); }

// What the program gets as standard handles.
class standard_handles {
public:
    // Returns 0 or minus errno's value.
    [[nodiscard]] int make(int i, int wanted) noexcept {
        SECURITY_ATTRIBUTES inheritable{sizeof(inheritable), nullptr, TRUE};
        HANDLE* const made = all_[i].to_fill();
        if (wanted == std_inherited) {
            const HANDLE own = to_handle(i);
            const HANDLE self = GetCurrentProcess();
            if (own != nullptr && own != INVALID_HANDLE_VALUE &&
                DuplicateHandle(self, own, self, made, 0, TRUE, DUPLICATE_SAME_ACCESS) != 0)
                return 0;
            wanted = std_null;  // this process has none
        }
        if (wanted != std_null) return pumps_[i].open(wanted, i == 0, *made);
        HANDLE null = CreateFileW(L"NUL", GENERIC_READ | GENERIC_WRITE, FILE_SHARE_READ | FILE_SHARE_WRITE,
                                  &inheritable, OPEN_EXISTING, 0, nullptr);
        if (null == INVALID_HANDLE_VALUE) return -last_error_number();
        *made = null;
        return 0;
    }

    [[nodiscard]] HANDLE get(int i) const noexcept { return all_[i].get(); }

    [[nodiscard]] int start_pumps(const int (&wanted)[3]) noexcept {
        int result = 0;
        for (int i = 0; i < 3 && result == 0; ++i) {
            if (wanted[i] >= 0) result = pumps_[i].start();
        }
        return result;
    }

private:
    owned_handle all_[3];
    pump pumps_[3];
};

// The program inherits the standard handles and no others.
class start_attributes {
public:
    ~start_attributes() {
        if (list_ != nullptr) DeleteProcThreadAttributeList(list_);
        HeapFree(GetProcessHeap(), 0, list_);
    }

    start_attributes() noexcept = default;
    start_attributes(const start_attributes&) = delete;
    start_attributes& operator=(const start_attributes&) = delete;

    [[nodiscard]] int make(const standard_handles& standard, STARTUPINFOEXW& start) noexcept {
        for (int i = 0; i < 3; ++i) inherited_[i] = standard.get(i);
        SIZE_T size = 0;
        InitializeProcThreadAttributeList(nullptr, 1, 0, &size);
        auto* list = static_cast<LPPROC_THREAD_ATTRIBUTE_LIST>(HeapAlloc(GetProcessHeap(), 0, size));
        if (list == nullptr) return -ENOMEM;
        if (InitializeProcThreadAttributeList(list, 1, 0, &size) == 0) {
            HeapFree(GetProcessHeap(), 0, list);
            return -last_error_number();
        }
        list_ = list;
        if (UpdateProcThreadAttribute(list, 0, PROC_THREAD_ATTRIBUTE_HANDLE_LIST, inherited_, sizeof(inherited_),
                                      nullptr, nullptr) == 0)
            return -last_error_number();
        start.StartupInfo.cb = sizeof(start);
        start.StartupInfo.dwFlags = STARTF_USESTDHANDLES;
        start.StartupInfo.hStdInput = inherited_[0];
        start.StartupInfo.hStdOutput = inherited_[1];
        start.StartupInfo.hStdError = inherited_[2];
        start.lpAttributeList = list;
        return 0;
    }

private:
    HANDLE inherited_[3] = {};
    LPPROC_THREAD_ATTRIBUTE_LIST list_ = nullptr;
};

std::wstring own_path() {
    std::wstring path;
    for (DWORD needed = GetEnvironmentVariableW(L"PATH", nullptr, 0); needed > path.size();) {
        path.resize(needed);
        needed = GetEnvironmentVariableW(L"PATH", path.data(), needed);
        if (needed < path.size()) path.resize(needed);
    }
    return path;
}

// What CreateProcessW is told.
struct program_words {
    std::wstring file;
    std::wstring line;
    std::wstring environment;
    std::wstring directory;

    // Returns 0 or minus errno's value. Throws std::bad_alloc.
    [[nodiscard]] int make(const spawn_request& r) {
        std::wstring word;
        if (r.directory != nullptr && !widen(r.directory, directory)) return -EINVAL;
        for (char* const* argument = r.arguments; *argument != nullptr; ++argument) {
            if (!widen(*argument, word)) return -EINVAL;
            add_quoted(line, word);
        }
        for (char* const* variable = r.environment; variable != nullptr && *variable != nullptr; ++variable) {
            if (!widen(*variable, word)) return -EINVAL;
            environment += word;
            environment += L'\0';
        }
        environment += L'\0';
        if (!widen(r.program != nullptr ? r.program : r.arguments[0], word)) return -EINVAL;
        if (!directory.empty()) {
            const DWORD attributes = GetFileAttributesW(directory.c_str());
            if (attributes == INVALID_FILE_ATTRIBUTES) return -ENOENT;
            if ((attributes & FILE_ATTRIBUTE_DIRECTORY) == 0) return -ENOTDIR;
        }
        if (!find_program(word, directory, own_path(), file)) return -ENOENT;
        // Command interpreters read their command line by rules of their own, so quoting does not
        // protect words from them.
        for (const wchar_t* script : {L".bat", L".cmd"}) {
            const std::size_t length = file.size() < 4 ? 0 : file.size() - 4;
            if (_wcsicmp(file.c_str() + length, script) == 0) return -ENOEXEC;
        }
        return 0;
    }
};

DWORD flags_of(group_kind group) noexcept {
    constexpr DWORD always = CREATE_SUSPENDED | CREATE_UNICODE_ENVIRONMENT | EXTENDED_STARTUPINFO_PRESENT;
    if (group == group_kind::own) return always | CREATE_NEW_PROCESS_GROUP;
    if (group == group_kind::own_session) return always | CREATE_NEW_PROCESS_GROUP | DETACHED_PROCESS;
    return always;
}

// Throws std::bad_alloc.
int spawn(const spawn_request& r, int& pid, int& descriptor) {
    program_words words;
    if (const int result = words.make(r); result < 0) return result;
    standard_handles standard;
    for (int i = 0; i < 3; ++i) {
        if (const int result = standard.make(i, r.standard[i]); result < 0) return result;
    }
    STARTUPINFOEXW start{};
    start_attributes attributes;
    if (const int result = attributes.make(standard, start); result < 0) return result;
    auto made = std::make_unique<child_process>();
    if (r.group != group_kind::inherited) {
        *made->job.to_fill() = CreateJobObjectW(nullptr, nullptr);
        if (made->job.get() == nullptr) return -last_error_number();
    }
    PROCESS_INFORMATION info{};
    if (CreateProcessW(words.file.c_str(), words.line.data(), nullptr, nullptr, TRUE, flags_of(r.group),
                       r.environment != nullptr ? words.environment.data() : nullptr,
                       words.directory.empty() ? nullptr : words.directory.c_str(), &start.StartupInfo, &info) == 0)
        return -last_error_number();
    *made->process.to_fill() = info.hProcess;
    const owned_handle thread(info.hThread);
    int ends[2] = {-1, -1};
    int result = 0;
    if (made->job.get() != nullptr && AssignProcessToJobObject(made->job.get(), info.hProcess) == 0)
        result = -last_error_number();
    if (result == 0) result = loopback_pair(ends);
    if (result == 0) {
        made->descriptor = ends[0];
        made->other_end.store(to_socket(ends[1]), relaxed);  // relaxed: no other thread knows it
        if (RegisterWaitForSingleObject(&made->ended, info.hProcess, &has_ended, made.get(), INFINITE,
                                        WT_EXECUTEONLYONCE | WT_EXECUTEINWAITTHREAD) == 0)
            result = -last_error_number();
    }
    if (result == 0) result = standard.start_pumps(r.standard);
    if (result == 0 && ResumeThread(info.hThread) == static_cast<DWORD>(-1)) result = -last_error_number();
    if (result < 0) {
        TerminateProcess(info.hProcess, code_of_signal(kill_signal));
        if (ends[0] >= 0) fd_close(ends[0]);
        return result;
    }
    pid = static_cast<int>(info.dwProcessId);
    descriptor = ends[0];
    const children_guard held;
    made->next = children;
    children = made.release();
    return 0;
}

}  // namespace

int process_number() noexcept { return static_cast<int>(GetCurrentProcessId()); }

WEFT_OS_CALL int process_spawn(const spawn_request& r, int& pid, int& descriptor) noexcept {
    try {
        return spawn(r, pid, descriptor);
    } catch (const std::bad_alloc&) {
        return -ENOMEM;
    }
}

int process_spawn_apart(const spawn_request& /*r*/) noexcept { return -ENOSYS; }

bool can_set_up_programs() noexcept { return false; }

void limit_own_process(int /*cpu_seconds*/) noexcept {}

WEFT_OS_CALL int process_look(int fd, int /*pid*/, process_end& e) noexcept {
    const children_guard held;
    const child_process* c = find_locked(fd);
    if (c == nullptr) return -ECHILD;
    if (WaitForSingleObject(c->process.get(), 0) != WAIT_OBJECT_0) {
        tell_would_block(fd, would_read);
        return -EAGAIN;
    }
    DWORD code = 0;
    if (GetExitCodeProcess(c->process.get(), &code) == 0) return -last_error_number();
    e = end_of_code(code);
    return 0;
}

int process_recall(int /*fd*/, process_end& /*e*/) noexcept { return -ENOSYS; }

WEFT_OS_CALL void process_reap(int fd, int /*pid*/) noexcept {
    const std::unique_ptr<child_process> c = [&] {
        const children_guard held;
        child_process** link = &children;
        while (*link != nullptr && (*link)->descriptor != fd) link = &(*link)->next;
        child_process* found = *link;
        if (found != nullptr) *link = found->next;
        return std::unique_ptr<child_process>(found);
    }();
}

WEFT_OS_CALL int process_signal(int fd, int /*pid*/, int signal) noexcept {
    const children_guard held;
    const child_process* c = find_locked(fd);
    if (c == nullptr) return -ESRCH;
    const DWORD code = code_of_signal(signal);
    if (code == 0) return -EOPNOTSUPP;
    if (TerminateProcess(c->process.get(), code) != 0) return 0;
    const int error = last_error_number();
    return WaitForSingleObject(c->process.get(), 0) == WAIT_OBJECT_0 ? -ESRCH : -error;
}

WEFT_OS_CALL int group_signal(int fd, int /*leader*/, int signal) noexcept {
    const children_guard held;
    const child_process* c = find_locked(fd);
    if (c == nullptr || c->job.get() == nullptr) return -ESRCH;
    const DWORD code = code_of_signal(signal);
    if (code == 0) return -EOPNOTSUPP;
    return TerminateJobObject(c->job.get(), code) != 0 ? 0 : -last_error_number();
}

// A socket that never becomes readable.
WEFT_OS_CALL int children_make() noexcept { return socket_make(AF_INET, SOCK_DGRAM, 0); }

WEFT_OS_CALL int children_add(int /*children*/, int fd) noexcept {
    const children_guard held;
    if (child_process* c = find_locked(fd)) c->left = true;
    return 0;
}

WEFT_OS_CALL int children_next(int /*children*/) noexcept {
    const children_guard held;
    for (child_process* c = children; c != nullptr; c = c->next) {
        if (std::exchange(c->left, false)) return c->descriptor;
    }
    return -1;
}

}  // namespace weft::detail::os
