// resources.h: what the process holds of the operating system, read from /proc.
#pragma once

#include <cstddef>

namespace weft::test {

struct resources {
    std::size_t fds = 0;       // open file descriptors
    std::size_t mappings = 0;  // entries of the memory map
    std::size_t threads = 0;
    std::size_t virtual_kib = 0;
    std::size_t resident_kib = 0;

    [[nodiscard]] static resources now();
};

// The calling OS thread, asked of the kernel each time.
[[nodiscard]] int os_thread_id() noexcept;

}  // namespace weft::test
