// resources_windows.cc: see resources.h. Descriptors are handles; mappings are regions of memory.
#include "os/os.h"
#include "os/windows_api.h"
#include "resources.h"

// After <windows.h>, which it does not include.
#include <psapi.h>

namespace weft::test {

namespace {

// Reserved regions count, as address space does on other systems.
void count_regions(resources& all) {
    const char* at = nullptr;
    MEMORY_BASIC_INFORMATION info;
    while (VirtualQuery(at, &info, sizeof(info)) != 0) {
        if (info.State != MEM_FREE) {
            ++all.mappings;
            all.virtual_kib += info.RegionSize / 1024;
        }
        at = static_cast<const char*>(info.BaseAddress) + info.RegionSize;
    }
}

}  // namespace

resources resources::now() {
    resources all;
    DWORD handles = 0;
    GetProcessHandleCount(GetCurrentProcess(), &handles);
    all.fds = handles;
    count_regions(all);
    all.threads = weft::detail::os::thread_count();
    PROCESS_MEMORY_COUNTERS memory{};
    memory.cb = sizeof(memory);
    if (GetProcessMemoryInfo(GetCurrentProcess(), &memory, sizeof(memory)) != 0)
        all.resident_kib = memory.WorkingSetSize / 1024;
    return all;
}

void give_heap_back() {}

std::size_t heap_in_use_kib() { return 0; }

bool untouched_pages_are_free() { return false; }

bool runs_in_wine() { return GetProcAddress(GetModuleHandleW(L"ntdll.dll"), "wine_get_version") != nullptr; }

int os_thread_id() noexcept { return static_cast<int>(GetCurrentThreadId()); }

}  // namespace weft::test
