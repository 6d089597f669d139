// vmem_posix.cc: see vmem.h.
#include <sys/mman.h>

#include <cerrno>

#include "os/mapping.h"
#include "os/vmem.h"

namespace weft::detail::os {

void* reserve_pages(std::size_t size) noexcept {
    void* address = mmap(nullptr, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | map_uncounted, -1, 0);
    return address == MAP_FAILED ? nullptr : address;
}

int set_page_access(void* address, std::size_t size, page_access access) noexcept {
    int protection = PROT_NONE;
    if (access == page_access::read) protection = PROT_READ;
    if (access == page_access::read_write) protection = PROT_READ | PROT_WRITE;
    return mprotect(address, size, protection) == 0 ? 0 : errno;
}

int release_pages(void* address, std::size_t size) noexcept { return munmap(address, size) == 0 ? 0 : errno; }

}  // namespace weft::detail::os
