#include "resources.h"

#include <malloc.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>

#include "build.h"

namespace weft::test {

namespace {

std::size_t entries_of(const char* folder) {
    const std::filesystem::directory_iterator all(folder);
    return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

std::size_t lines_of(const char* path) {
    std::ifstream file(path);
    std::size_t lines = 0;
    for (std::string line; std::getline(file, line);) ++lines;
    return lines;
}

std::size_t status_field(const std::string& name) {
    std::ifstream file("/proc/self/status");
    for (std::string word; file >> word;) {
        std::size_t value = 0;
        if (word == name + ':' && file >> value) return value;
    }
    return 0;
}

bool probe_untouched_pages() {
    constexpr std::size_t size = std::size_t{1} << 30;
    constexpr std::size_t noise_kib = 512;
    const std::size_t before = status_field("VmRSS");
    void* memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) return true;  // then no stack can grow either
    const std::size_t after = status_field("VmRSS");
    munmap(memory, size);
    return after <= before + noise_kib;
}

// Checked before any other mapping: what an emulator has recorded once costs nothing the second
// time.
const bool pages_were_free = probe_untouched_pages();

}  // namespace

resources resources::now() {
    // The first thread makes a sanitizer start one of its own, which stays.
    [[maybe_unused]] static const bool has_begun = [] {
        std::thread([] {}).join();
        return true;
    }();
    return {
        .fds = entries_of("/proc/self/fd"),
        .mappings = lines_of("/proc/self/maps"),
        .threads = entries_of("/proc/self/task"),
        .virtual_kib = status_field("VmSize"),
        .resident_kib = status_field("VmRSS"),
    };
}

#if defined(__GLIBC__)

void give_heap_back() { ::malloc_trim(0); }

std::size_t heap_in_use_kib() {
    const struct mallinfo2 all = ::mallinfo2();
    return (all.uordblks + all.hblkhd) / 1024;
}

#else

void give_heap_back() {}

std::size_t heap_in_use_kib() { return 0; }

#endif

bool untouched_pages_are_free() { return pages_were_free; }

bool runs_in_wine() { return false; }

WEFT_TEST_OPAQUE int os_thread_id() noexcept { return static_cast<int>(::syscall(SYS_gettid)); }

}  // namespace weft::test
