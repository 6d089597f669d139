// resources.h: what the process holds of the system's resources, from /proc.
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

// Makes the heap return what it cached in earlier tests, for tests that measure resident_kib.
void give_heap_back();  // no effect without glibc

// Allocated memory of all threads, including the allocator's thread caches. 0 under a sanitizer,
// and without glibc.
[[nodiscard]] std::size_t heap_in_use_kib();

// Whether untouched mappings cost nothing. An emulator may keep a record of every page ever mapped
// (qemu-user 7: 24 bytes), so its process grows with what it maps.
[[nodiscard]] bool untouched_pages_are_free();

// Whether wine runs this program. Then Linux bounds the number of mappings (vm.max_map_count), and
// each range of pages with the same protection is one.
[[nodiscard]] bool runs_in_wine();

// The calling OS thread, from the kernel each time.
[[nodiscard]] int os_thread_id() noexcept;

}  // namespace weft::test
