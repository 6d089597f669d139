// vmem.cc: see weft/run/vmem.h.
#include "os/vmem.h"

#include <cstdint>

#include <weft/run/vmem.h>

#include "os/os.h"

namespace {

namespace os = weft::detail::os;

std::size_t round_up(std::size_t size) noexcept {
    const std::size_t page = os::page_size();
    return (size + page - 1) / page * page;
}

// Whether these can be whole pages; rounds size up.
bool are_pages(const void* address, std::size_t& size) noexcept {
    const std::size_t page = os::page_size();
    if (address == nullptr || size == 0 || size > PTRDIFF_MAX - page) return false;
    size = round_up(size);
    return reinterpret_cast<uintptr_t>(address) % page == 0;
}

run_status_t set_access(void* address, std::size_t size, os::page_access access) noexcept {
    if (!are_pages(address, size)) return RUN_INVALID;
    return os::set_page_access(address, size, access) == 0 ? RUN_OK : RUN_EXHAUSTED;
}

}  // namespace

size_t run_vmem_page_size(void) noexcept { return os::page_size(); }

run_status_t run_vmem_reserve(void** address, size_t size) noexcept {
    if (address == nullptr || size == 0 || size > PTRDIFF_MAX - os::page_size()) return RUN_INVALID;
    *address = os::reserve_pages(round_up(size));
    return *address == nullptr ? RUN_EXHAUSTED : RUN_OK;
}

run_status_t run_vmem_commit(void* address, size_t size) noexcept {
    return set_access(address, size, os::page_access::read_write);
}

run_status_t run_vmem_protect(void* address, size_t size, run_vmem_access_t access) noexcept {
    switch (access) {
        case RUN_VMEM_NONE:
            return set_access(address, size, os::page_access::none);
        case RUN_VMEM_READ:
            return set_access(address, size, os::page_access::read);
        case RUN_VMEM_READWRITE:
            return set_access(address, size, os::page_access::read_write);
    }
    return RUN_INVALID;
}

run_status_t run_vmem_release(void* address, size_t size) noexcept {
    if (!are_pages(address, size)) return RUN_INVALID;
    return os::release_pages(address, size) == 0 ? RUN_OK : RUN_EXHAUSTED;
}

void* run_vmem_alloc(size_t size) noexcept {
    void* address = nullptr;
    if (run_vmem_reserve(&address, size) != RUN_OK) return nullptr;
    if (run_vmem_commit(address, size) == RUN_OK) return address;
    run_vmem_free(address, size);
    return nullptr;
}

void* run_vmem_alloc_reserve(size_t size) noexcept {
    void* address = nullptr;
    return run_vmem_reserve(&address, size) == RUN_OK ? address : nullptr;
}

void run_vmem_free(void* address, size_t size) noexcept {
    if (are_pages(address, size)) os::unmap_pages(address, size);
}

void* run_stack_alloc(void) noexcept {
    void* low = run_vmem_alloc(RUN_STACK_SIZE);
    if (low == nullptr) return nullptr;
    if (run_vmem_protect(low, RUN_GUARD_SIZE, RUN_VMEM_NONE) == RUN_OK) return low;
    run_vmem_free(low, RUN_STACK_SIZE);
    return nullptr;
}

void run_stack_free(void* stack) noexcept {
    if (stack != nullptr) run_vmem_free(stack, RUN_STACK_SIZE);
}
