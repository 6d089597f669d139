#include "guards.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>

// Newer than Debian 12's headers.
#ifndef MADV_GUARD_INSTALL
#define MADV_GUARD_INSTALL 102
#endif

namespace weft::test {

namespace {

// A system call that reads from the guard fails where a load would fault.
bool probe() {
    const auto size = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    void* page = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED) return false;
    int ends[2] = {};
    bool works = false;
    if (madvise(page, size, MADV_GUARD_INSTALL) == 0 && pipe(ends) == 0) {
        works = write(ends[1], page, 1) < 0 && errno == EFAULT;
        close(ends[0]);
        close(ends[1]);
    }
    munmap(page, size);
    return works;
}

}  // namespace

bool guard_regions_work() {
    static const bool works = probe();
    return works;
}

bool guards_work() { return guard_regions_work(); }

}  // namespace weft::test
