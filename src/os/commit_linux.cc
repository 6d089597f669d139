// commit_linux.cc: see commit.h.
//
// Linux counts a private mapping as memory for good once it is writable. So mprotect commits pages,
// but only a new mapping in their place decommits them.
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <ctime>
#include <utility>

#include "os/commit.h"
#include "os/os.h"

namespace weft::detail::os {

namespace {

constexpr int reserved = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
constexpr std::size_t pages_at_once = 256;  // per call; the results lie on the stack

}  // namespace

void* map_reserved(std::size_t size) noexcept {
    if (injected_failure(failure::map)) {
        errno = ENOMEM;
        return nullptr;
    }
    unmap_kept_pages();
    void* address = mmap(nullptr, size, PROT_NONE, reserved, -1, 0);
    if (address == MAP_FAILED) return nullptr;
    madvise(address, size, MADV_NOHUGEPAGE);
    return address;
}

int commit_pages(void* address, std::size_t size) noexcept {
    if (injected_failure(failure::commit)) return ENOMEM;
    const int before = errno;
    if (mprotect(address, size, PROT_READ | PROT_WRITE) == 0) return 0;
    return std::exchange(errno, before);
}

bool decommit_pages(void* address, std::size_t size) noexcept {
    if (mmap(address, size, PROT_NONE, reserved | MAP_FIXED, -1, 0) == MAP_FAILED) return false;
    madvise(address, size, MADV_NOHUGEPAGE);  // else it would stay a separate mapping
    return true;
}

// A futex wait without time reports EFAULT if the kernel cannot read the word.
bool is_readable(const void* address) noexcept {
    const int before = errno;
    auto* word = reinterpret_cast<uint32_t*>(reinterpret_cast<uintptr_t>(address) & ~uintptr_t{3});
    const timespec now{};
    const long result = syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, 0, &now, nullptr, 0);
    return result == 0 || std::exchange(errno, before) != EFAULT;
}

std::size_t absent_bytes(const void* low, std::size_t size) noexcept {
    unsigned char present[pages_at_once];
    const std::size_t page = page_size();
    auto* at = static_cast<char*>(const_cast<void*>(low));  // NOLINT: mincore only looks
    for (std::size_t done = 0; done < size; done += pages_at_once * page) {
        const std::size_t pages = std::min((size - done + page - 1) / page, pages_at_once);
        if (mincore(at + done, pages * page, present) != 0) return 0;
        for (std::size_t i = 0; i < pages; ++i) {
            if ((present[i] & 1) != 0) return done + i * page;
        }
    }
    return size;
}

}  // namespace weft::detail::os
