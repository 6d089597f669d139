// guard_linux.cc: two ways of Linux to make the low end of a stack fault.
//
// See: docs/stacks.md, Guards
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>

#include "os/os.h"
#include "os/vmem.h"

// Newer than Debian 12's headers.
#ifndef MADV_GUARD_INSTALL
#define MADV_GUARD_INSTALL 102  // Linux 6.13
#endif
#ifndef UFFD_USER_MODE_ONLY
#define UFFD_USER_MODE_ONLY 1  // Linux 5.11
#endif
#ifndef UFFD_FEATURE_WP_UNPOPULATED
#define UFFD_FEATURE_WP_UNPOPULATED (1 << 13)  // Linux 6.4
#endif

namespace weft::detail::os {

namespace {

// Opened on first use; closing it would remove the protection.
struct protector {
    int fd = -1;
    bool unpopulated = false;  // absent pages can be protected

    protector() noexcept {
        if (open(UFFD_FEATURE_WP_UNPOPULATED)) {
            unpopulated = true;
        } else {
            open(0);
        }
    }

    bool open(uint64_t more) noexcept {
        fd = static_cast<int>(syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK | UFFD_USER_MODE_ONLY));
        if (fd < 0) return false;
        uffdio_api api{};
        api.api = UFFD_API;
        api.features = UFFD_FEATURE_SIGBUS | UFFD_FEATURE_PAGEFAULT_FLAG_WP | more;
        if (ioctl(fd, UFFDIO_API, &api) == 0) return true;
        close(fd);
        fd = -1;
        return false;
    }
};

const protector& process_protector() noexcept {
    static const protector one;
    return one;
}

}  // namespace

uint64_t mapping_limit() noexcept {
    uint64_t limit = 65530;
    if (std::FILE* file = std::fopen("/proc/sys/vm/max_map_count", "re")) {
        unsigned long long value = 0;
        if (std::fscanf(file, "%llu", &value) == 1) limit = value;  // NOLINT(cert-err34-c): checked by the result
        std::fclose(file);
    }
    return limit;
}

bool guard_region(void* address, std::size_t size) noexcept { return madvise(address, size, MADV_GUARD_INSTALL) == 0; }

bool allow_write_protect(void* address, std::size_t size) noexcept {
    const protector& p = process_protector();
    if (p.fd < 0) return false;
    uffdio_register range{};
    range.range = {reinterpret_cast<uintptr_t>(address), size};
    range.mode = UFFDIO_REGISTER_MODE_WP;
    return ioctl(p.fd, UFFDIO_REGISTER, &range) == 0;
}

bool write_protect(void* address, std::size_t size) noexcept {
    const protector& p = process_protector();
    if (p.fd < 0) return false;
    if (!p.unpopulated) {
        // Only present pages can be protected; reading maps the shared zero page.
        const auto* byte = static_cast<const volatile char*>(address);
        for (std::size_t at = 0; at < size; at += page_size()) static_cast<void>(byte[at]);
    }
    uffdio_writeprotect protect{};
    protect.range = {reinterpret_cast<uintptr_t>(address), size};
    protect.mode = UFFDIO_WRITEPROTECT_MODE_WP;
    return ioctl(p.fd, UFFDIO_WRITEPROTECT, &protect) == 0;
}

}  // namespace weft::detail::os
