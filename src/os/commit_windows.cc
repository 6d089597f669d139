// commit_windows.cc: see commit.h, and headroom_windows.h for stacks.
#include <algorithm>
#include <cerrno>

#include "os/commit.h"
#include "os/headroom_windows.h"
#include "os/os.h"
#include "os/windows_api.h"
#include "os/windows_errors.h"

// After <windows.h>, which it does not include.
#include <psapi.h>

namespace weft::detail::os {

thread_local constinit uintptr_t grown_to = 0;

namespace {

// Of a call on reserved pages of this process, which only a lack of memory can refuse. Wine says
// "access denied" if Linux permits the process no more mappings (vm.max_map_count).
int memory_error() noexcept {
    const int error = last_error_number();
    return error == EACCES ? ENOMEM : error;
}

}  // namespace

void* map_reserved(std::size_t size) noexcept {
    if (const int error = injected_failure(failure::map); error != 0) {
        errno = error;
        return nullptr;
    }
    void* address = VirtualAlloc(nullptr, size, MEM_RESERVE, PAGE_NOACCESS);
    if (address == nullptr) errno = ENOMEM;
    return address;
}

int commit_pages(void* address, std::size_t size) noexcept {
    if (const int error = injected_failure(failure::commit); error != 0) return error;
    const DWORD kept_error = GetLastError();
    int error = 0;
    DWORD before = 0;
    // Pages that are committed already may be guard pages.
    if (VirtualAlloc(address, size, MEM_COMMIT, PAGE_READWRITE) == nullptr ||
        VirtualProtect(address, size, PAGE_READWRITE, &before) == 0) {
        error = memory_error();
    }
    SetLastError(kept_error);
    return error;
}

int commit_stack(void* address, std::size_t size) noexcept {
    auto* const guard = static_cast<std::byte*>(address) - headroom_page;
    const int error = commit_pages(guard - (stack_headroom - headroom_page), size + stack_headroom);
    if (error != 0) return error;
    DWORD before = 0;
    if (VirtualProtect(guard, headroom_page, PAGE_READWRITE | PAGE_GUARD, &before) == 0) return memory_error();
    grown_to = reinterpret_cast<uintptr_t>(address);
    return 0;
}

bool decommit_stack(void* address, std::size_t size) noexcept {
    auto* const low = static_cast<std::byte*>(address) - stack_headroom;
    auto* const guard = static_cast<std::byte*>(address) + size - headroom_page;
    if (VirtualFree(low, size, MEM_DECOMMIT) == 0) return false;
    // The pages below those that stay become their headroom. An older guard page may be among them.
    DWORD before = 0;
    return VirtualProtect(guard - (stack_headroom - headroom_page), stack_headroom, PAGE_READWRITE, &before) != 0 &&
           VirtualProtect(guard, headroom_page, PAGE_READWRITE | PAGE_GUARD, &before) != 0;
}

bool decommit_pages(void* address, std::size_t size) noexcept { return VirtualFree(address, size, MEM_DECOMMIT) != 0; }

// The low part of a guard becomes inaccessible, the high part as headroom_windows.h shows.
bool guard_region(void* address, std::size_t size) noexcept {
    if (size <= stack_headroom) return false;
    auto* const guard = static_cast<std::byte*>(address) + size - headroom_page;
    DWORD before = 0;
    return VirtualFree(address, size - stack_headroom, MEM_DECOMMIT) != 0 &&
           VirtualProtect(guard, headroom_page, PAGE_READWRITE | PAGE_GUARD, &before) != 0;
}

bool is_readable(const void* address) noexcept {
    MEMORY_BASIC_INFORMATION info;
    if (VirtualQuery(address, &info, sizeof(info)) == 0 || info.State != MEM_COMMIT) return false;
    return (info.Protect & (PAGE_GUARD | PAGE_NOACCESS)) == 0 && info.Protect != PAGE_EXECUTE;
}

std::size_t absent_bytes(const void* low, std::size_t size) noexcept {
    constexpr std::size_t pages_at_once = 128;  // per call; the results lie on the stack
    PSAPI_WORKING_SET_EX_INFORMATION pages[pages_at_once];
    const std::size_t page = page_size();
    auto* at = static_cast<char*>(const_cast<void*>(low));  // NOLINT: it is only looked at
    for (std::size_t done = 0; done < size; done += pages_at_once * page) {
        const std::size_t count = std::min((size - done + page - 1) / page, pages_at_once);
        for (std::size_t i = 0; i < count; ++i) pages[i].VirtualAddress = at + done + i * page;
        if (QueryWorkingSetEx(GetCurrentProcess(), pages, static_cast<DWORD>(count * sizeof(pages[0]))) == 0) return 0;
        for (std::size_t i = 0; i < count; ++i) {
            if (pages[i].VirtualAttributes.Valid != 0) return done + i * page;
        }
    }
    return size;
}

}  // namespace weft::detail::os
