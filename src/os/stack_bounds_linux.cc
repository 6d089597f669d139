// stack_bounds_linux.cc: see stack_bounds_linux.h.
#include "os/stack_bounds_linux.h"

#include <sys/resource.h>

#include <algorithm>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>

#include "os/os.h"

namespace weft::detail::os {

namespace {

struct close_file {
    void operator()(std::FILE* f) const noexcept { std::fclose(f); }
};

// The first thread's stack grows down to its limit, unless another mapping is in the way.
uint64_t lowest_of_first_thread(uint64_t begin, uint64_t end, uint64_t end_of_mapping_below) noexcept {
    rlimit limit{};
    if (getrlimit(RLIMIT_STACK, &limit) != 0) return begin;
    const uint64_t page = page_size();
    const uint64_t longest = std::min<uint64_t>(limit.rlim_cur, end) / page * page;  // RLIM_INFINITY is larger
    return std::min(begin, std::max(end - longest, end_of_mapping_below));
}

}  // namespace

// NOLINTBEGIN(clang-analyzer-unix.Stream): the file is closed by its owner
bool stack_bounds_by_map(const void*& low, std::size_t& size) noexcept {
    const auto here = reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
    const std::unique_ptr<std::FILE, close_file> maps(std::fopen("/proc/self/maps", "re"));
    if (maps == nullptr) return false;
    char line[4096 + 128];  // the longest path, and what is before it
    uint64_t end_of_last = 0;
    while (std::fgets(line, sizeof(line), maps.get()) != nullptr) {
        uint64_t begin = 0;
        uint64_t end = 0;
        // NOLINTNEXTLINE(cert-err34-c): the kernel writes it
        if (std::sscanf(line, "%" SCNx64 "-%" SCNx64, &begin, &end) != 2) continue;
        if (here < begin || here >= end) {
            end_of_last = end;
            continue;
        }
        line[std::strcspn(line, "\n")] = '\0';
        const char* const path = std::strrchr(line, ' ');
        if (path != nullptr && std::strcmp(path, " [stack]") == 0)
            begin = lowest_of_first_thread(begin, end, end_of_last);
        low = reinterpret_cast<const void*>(begin);  // NOLINT(performance-no-int-to-ptr): the map has numbers
        size = end - begin;
        return true;
    }
    return false;
}

// NOLINTEND(clang-analyzer-unix.Stream)

}  // namespace weft::detail::os
