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

// The heap gives back what it keeps of tests before, which it would else do at some moment of its own: for who measures resident_kib.
void give_heap_back();  // does nothing without glibc

// What is allocated by all threads and not freed; what the allocator keeps for threads counts, too. Under a sanitizer, and without glibc: 0.
[[nodiscard]] std::size_t heap_in_use_kib();

// Whether memory that is mapped and not touched costs nothing. An emulator may keep a note of every page that was ever mapped,
// also after it has been unmapped (qemu-user 7: 24 bytes); then a process under it grows with what it maps.
[[nodiscard]] bool untouched_pages_are_free();

// The calling OS thread, asked of the kernel each time.
[[nodiscard]] int os_thread_id() noexcept;

}  // namespace weft::test
