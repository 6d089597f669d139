// commit_posix.cc: see commit.h.
//
// Linux counts a private mapping as memory for good once it is writable. So mprotect commits pages,
// but only a new mapping in their place decommits them.
#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "os/commit.h"
#include "os/mapping.h"
#include "os/os.h"

namespace weft::detail::os {

namespace {

constexpr int reserved = MAP_PRIVATE | MAP_ANONYMOUS | map_uncounted;
constexpr std::size_t pages_at_once = 256;  // per call; the results lie on the stack

// Systems differ in the type of the result's bytes.
template <typename Address, typename Byte>
int look(int (*call)(Address, std::size_t, Byte*), void* address, std::size_t size, unsigned char* present) noexcept {
    return call(address, size, reinterpret_cast<Byte*>(present));
}

}  // namespace

void* map_reserved(std::size_t size) noexcept {
    if (const int error = injected_failure(failure::map); error != 0) {
        errno = error;
        return nullptr;
    }
    unmap_kept_pages();
    void* address = mmap(nullptr, size, PROT_NONE, reserved, -1, 0);
    if (address == MAP_FAILED) return nullptr;
    refuse_huge_pages(address, size);
    return address;
}

int commit_pages(void* address, std::size_t size) noexcept {
    if (const int error = injected_failure(failure::commit); error != 0) return error;
    const int before = errno;
    if (mprotect(address, size, PROT_READ | PROT_WRITE) == 0) return 0;
    return std::exchange(errno, before);
}

bool decommit_pages(void* address, std::size_t size) noexcept {
    if (mmap(address, size, PROT_NONE, reserved | MAP_FIXED, -1, 0) == MAP_FAILED) return false;
    refuse_huge_pages(address, size);  // else it would stay a separate mapping
    return true;
}

// Handlers of faults run on the alternate signal stack.
int commit_stack(void* address, std::size_t size) noexcept { return commit_pages(address, size); }

bool decommit_stack(void* address, std::size_t size) noexcept { return decommit_pages(address, size); }

std::size_t absent_bytes(const void* low, std::size_t size) noexcept {
    unsigned char present[pages_at_once];
    const std::size_t page = page_size();
    auto* at = static_cast<char*>(const_cast<void*>(low));  // NOLINT: mincore only looks
    for (std::size_t done = 0; done < size; done += pages_at_once * page) {
        const std::size_t pages = std::min((size - done + page - 1) / page, pages_at_once);
        if (look(&mincore, at + done, pages * page, present) != 0) return 0;
        for (std::size_t i = 0; i < pages; ++i) {
            if ((present[i] & 1) != 0) return done + i * page;
        }
    }
    return size;
}

}  // namespace weft::detail::os
