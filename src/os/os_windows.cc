// os_windows.cc: os.h: pages, threads, fences, output.
//
// Pages. The system charges committed pages to the process before they are touched, so sparse
// memory is charged in full. It releases an allocation only as a whole: a part of one is
// decommitted, and its address space stays taken until the whole is unmapped by its first address.
//
// Threads are those of winpthreads, which std::thread uses, too.
//
// Rejected: _beginthreadex. winpthreads also keeps a record of a thread that it has not made, and
// frees it in a callback of the system's loader, under the loader's lock. That takes the lock of
// all records. A thread that winpthreads has made takes the two in the other order: it destroys
// its thread-locals under the lock of the records, and each destruction gives up a reference to a
// module (FreeLibrary). Two such threads that end at the same time wait for each other
// (thread_end_test.cc; winpthreads 10).
//
// Windows has no fork(), so call_in_child_of_fork has nothing to call.
#include <pthread.h>

#include <cerrno>
#include <cstring>

#include "base/assert.h"
#include "base/time_units.h"
#include "os/os.h"
#include "os/std_handles.h"
#include "os/vmem.h"
#include "os/windows_api.h"
#include "os/windows_errors.h"

// After <windows.h>, which it does not include.
#include <tlhelp32.h>

namespace weft::detail::os {

std::size_t page_size() noexcept {
    static const std::size_t size = [] {
        SYSTEM_INFO info;
        GetSystemInfo(&info);
        return std::size_t{info.dwPageSize};
    }();
    return size;
}

void* map_pages(std::size_t size, bool /*sparse*/) noexcept {
    if (const int error = injected_failure(failure::map); error != 0) {
        errno = error;
        return nullptr;
    }
    void* address = VirtualAlloc(nullptr, size, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE);
    if (address == nullptr) errno = ENOMEM;
    return address;
}

void unmap_pages(void* address, std::size_t size) noexcept {
    if (injected_failure(failure::unmap) != 0) {
        static_cast<void>(discard_pages(address, size));
        return;
    }
    static_cast<void>(release_pages(address, size));
}

// Unmapping is never refused.
void unmap_kept_pages() noexcept {}

std::size_t kept_pages_for_test() noexcept { return 0; }

// Pages that are reserved or inaccessible stay so. Between the two calls another process may take
// the memory. Then there is no way back: the caller counts on pages that read as zero.
bool discard_pages(void* address, std::size_t size) noexcept {
    auto* at = static_cast<char*>(address);
    char* const end = at + size;
    while (at < end) {
        MEMORY_BASIC_INFORMATION info;
        if (VirtualQuery(at, &info, sizeof(info)) == 0) return false;
        char* const region_end = static_cast<char*>(info.BaseAddress) + info.RegionSize;
        const auto part = static_cast<std::size_t>((region_end < end ? region_end : end) - at);
        if (info.State == MEM_COMMIT && info.Protect == PAGE_READWRITE) {
            if (VirtualFree(at, part, MEM_DECOMMIT) == 0) return false;
            constexpr int attempts = 100;
            int attempt = 0;
            while (VirtualAlloc(at, part, MEM_COMMIT, PAGE_READWRITE) == nullptr) {
                if (++attempt == attempts)
                    fatal("%s", "out of memory: pages that were discarded cannot be committed again");
                Sleep(1);
            }
        }
        at += part;
    }
    return true;
}

// Discarded pages are gone for a moment. So these are cleared, and the system may then drop their
// content: they read as zero either way. The process stays charged for them.
bool discard_read_pages(void* address, std::size_t size) noexcept {
    std::memset(address, 0, size);
    if (VirtualAlloc(address, size, MEM_RESET, PAGE_READWRITE) != nullptr) VirtualUnlock(address, size);
    return true;
}

bool protect_pages(void* address, std::size_t size) noexcept {
    DWORD before = 0;
    return VirtualProtect(address, size, PAGE_NOACCESS, &before) != 0;
}

bool allow_write_protect(void* /*address*/, std::size_t /*size*/) noexcept { return false; }

bool write_protect(void* /*address*/, std::size_t /*size*/) noexcept { return false; }

// All of the stack is committed: calls of green threads run on it while the system does not know
// that, so it would not grow (os/headroom_windows.h).
int start_thread(thread_id& id, void* (*body)(void*), void* argument) noexcept {
    if (const int error = injected_failure(failure::thread); error != 0) return error;
    constexpr std::size_t stack_committed = 1024 * 1024;
    pthread_attr_t attributes;
    if (const int error = pthread_attr_init(&attributes); error != 0) return error;
    pthread_t thread{};
    int error = pthread_attr_setstacksize(&attributes, stack_committed);
    if (error == 0) error = pthread_create(&thread, &attributes, body, argument);
    pthread_attr_destroy(&attributes);
    if (error == 0) id = thread;
    return error;
}

void detach_this_thread() noexcept { pthread_detach(pthread_self()); }

void join_thread(thread_id id) noexcept { WEFT_ASSERT(pthread_join(id, nullptr) == 0); }

thread_id this_thread_id() noexcept { return pthread_self(); }

int current_tid() noexcept { return static_cast<int>(GetCurrentThreadId()); }

void name_thread(const char* name) noexcept {
    constexpr std::size_t longest = 15;
    wchar_t wide[longest + 1] = {};
    for (std::size_t i = 0; i < longest && name[i] != '\0'; ++i) wide[i] = static_cast<unsigned char>(name[i]);
    using set_description = HRESULT(WINAPI*)(HANDLE thread, const wchar_t* text);  // Windows 10 1607
    static const auto set = reinterpret_cast<set_description>(
        reinterpret_cast<void*>(GetProcAddress(GetModuleHandleW(L"kernel32.dll"), "SetThreadDescription")));
    if (set != nullptr) set(GetCurrentThread(), wide);
}

int thread_stack_bounds(const void*& low, std::size_t& size) noexcept {
    ULONG_PTR lowest = 0;
    ULONG_PTR highest = 0;
    GetCurrentThreadStackLimits(&lowest, &highest);
    low = reinterpret_cast<const void*>(lowest);  // NOLINT(performance-no-int-to-ptr)
    size = highest - lowest;
    return 0;
}

void yield_thread() noexcept { SwitchToThread(); }

// A timer with high resolution. Without one (before Windows 10 1803), sleeps last whole ticks of
// the system.
void sleep_ns(int64_t ns) noexcept {
    constexpr int64_t ns_per_unit = 100;
    constexpr DWORD high_resolution = 2;  // CREATE_WAITABLE_TIMER_HIGH_RESOLUTION
    HANDLE timer = CreateWaitableTimerExW(nullptr, nullptr, high_resolution, TIMER_ALL_ACCESS);
    LARGE_INTEGER due;
    due.QuadPart = -((ns + ns_per_unit - 1) / ns_per_unit);
    if (timer != nullptr && SetWaitableTimer(timer, &due, 0, nullptr, nullptr, FALSE) != 0) {
        WaitForSingleObject(timer, INFINITE);
    } else {
        Sleep(static_cast<DWORD>((ns + ns_per_ms - 1) / ns_per_ms));
    }
    if (timer != nullptr) CloseHandle(timer);
}

void write_all(int fd, const char* text, std::size_t size) noexcept {
    std::size_t done = 0;
    while (done < size) {
        DWORD wrote = 0;
        if (WriteFile(to_handle(fd), text + done, static_cast<DWORD>(size - done), &wrote, nullptr) == 0) break;
        if (wrote == 0) break;
        done += wrote;
    }
}

void call_in_child_of_fork(void (* /*f*/)()) noexcept {}

// The system has no such settings. Timeouts are rounded up to milliseconds in any case.
int timeout_slack_ns() noexcept { return precise_timeouts; }

void set_timeout_slack_ns(int /*ns*/) noexcept {}

void want_short_slices(int /*tid*/, bool /*wanted*/) noexcept {}

bool wants_short_slices(int /*tid*/) noexcept { return false; }

// It interrupts all processors on which the process runs, as membarrier does.
bool has_heavy_fence() noexcept { return true; }

void renew_heavy_fence() noexcept {}

bool heavy_fence() noexcept {
    FlushProcessWriteBuffers();
    return true;
}

int64_t thread_cpu_ns(int tid) noexcept {
    HANDLE thread = OpenThread(THREAD_QUERY_LIMITED_INFORMATION, FALSE, static_cast<DWORD>(tid));
    if (thread == nullptr) return -1;
    FILETIME created;
    FILETIME ended;
    FILETIME kernel;
    FILETIME user;
    const bool known = GetThreadTimes(thread, &created, &ended, &kernel, &user) != 0;
    CloseHandle(thread);
    if (!known) return -1;
    constexpr int64_t ns_per_unit = 100;
    const auto units = [](const FILETIME& t) { return (int64_t{t.dwHighDateTime} << 32) + t.dwLowDateTime; };
    return (units(kernel) + units(user)) * ns_per_unit;
}

// The system tells it only in a list of all threads of all processes.
bool thread_wants_cpu(int /*tid*/) noexcept { return false; }

int64_t thread_waited_ns(int /*tid*/) noexcept { return 0; }

bool for_each_thread(bool (*each)(void* closure, int tid) noexcept, void* closure) noexcept {
    HANDLE list = CreateToolhelp32Snapshot(TH32CS_SNAPTHREAD, 0);
    if (list == INVALID_HANDLE_VALUE) return false;
    const DWORD own = GetCurrentProcessId();
    THREADENTRY32 entry{};
    entry.dwSize = sizeof(entry);
    for (BOOL more = Thread32First(list, &entry); more != 0; more = Thread32Next(list, &entry)) {
        if (entry.th32OwnerProcessID == own && !each(closure, static_cast<int>(entry.th32ThreadID))) break;
    }
    CloseHandle(list);
    return true;
}

unsigned thread_count() noexcept {
    unsigned count = 0;
    const auto add = [](void* closure, int) noexcept {
        ++*static_cast<unsigned*>(closure);
        return true;
    };
    return for_each_thread(add, &count) ? count : 0;
}

uint64_t mapping_limit() noexcept { return UINT32_MAX; }

void* reserve_pages(std::size_t size) noexcept { return VirtualAlloc(nullptr, size, MEM_RESERVE, PAGE_NOACCESS); }

int set_page_access(void* address, std::size_t size, page_access access) noexcept {
    DWORD protection = PAGE_NOACCESS;
    if (access == page_access::read) protection = PAGE_READONLY;
    if (access == page_access::read_write) protection = PAGE_READWRITE;
    if (VirtualAlloc(address, size, MEM_COMMIT, protection) == nullptr) return last_error_number();
    DWORD before = 0;
    return VirtualProtect(address, size, protection, &before) != 0 ? 0 : last_error_number();
}

int release_pages(void* address, std::size_t size) noexcept {
    MEMORY_BASIC_INFORMATION info;
    if (VirtualQuery(address, &info, sizeof(info)) == 0 || info.State == MEM_FREE) return EINVAL;
    const void* const base = info.AllocationBase;
    if (base == address) {
        // Unless pages follow that stay.
        const char* const end = static_cast<char*>(address) + size;
        const bool follows =
            VirtualQuery(end, &info, sizeof(info)) != 0 && info.State == MEM_COMMIT && info.AllocationBase == base;
        if (!follows) return VirtualFree(address, 0, MEM_RELEASE) != 0 ? 0 : last_error_number();
    }
    return VirtualFree(address, size, MEM_DECOMMIT) != 0 ? 0 : last_error_number();
}

}  // namespace weft::detail::os
