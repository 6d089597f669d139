// os_bsd.cc: os.h, what macOS and FreeBSD lack, or do in the same way.
#include <sys/mman.h>

#include "os/os.h"
#include "os/vmem.h"

namespace weft::detail::os {

// New pages in place of the old ones: MADV_FREE may keep their content. Inaccessible pages among
// them become accessible.
bool discard_pages(void* address, std::size_t size) noexcept {
    constexpr int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED;
    return mmap(address, size, PROT_READ | PROT_WRITE, flags, -1, 0) != MAP_FAILED;
}

uint64_t mapping_limit() noexcept { return UINT32_MAX; }

// Guards are made by protect_pages.
bool guard_region(void* /*address*/, std::size_t /*size*/) noexcept { return false; }

bool allow_write_protect(void* /*address*/, std::size_t /*size*/) noexcept { return false; }

bool write_protect(void* /*address*/, std::size_t /*size*/) noexcept { return false; }

// Timeouts are exact.
int timeout_slack_ns() noexcept { return precise_timeouts; }

void set_timeout_slack_ns(int /*ns*/) noexcept {}

// The systems have no such setting.
void want_short_slices(int /*tid*/, bool /*wanted*/) noexcept {}

bool wants_short_slices(int /*tid*/) noexcept { return false; }

// The system does not say it.
int64_t thread_waited_ns(int /*tid*/) noexcept { return 0; }

}  // namespace weft::detail::os
