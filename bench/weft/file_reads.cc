// file_reads.cc: random 4 KiB reads of a file, from disk or memory, by several green threads.
//
//     file_reads FILE [MIB]
//
// Creates FILE with MIB (512) MiB, and leaves it. For one to 16 readers at one and two Ps, prints
// time and process CPU time per read, and the number of OS threads. RUN_IO_URING=0: the same
// without io_uring.
#include <fcntl.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>

#include <weft/fs.h>
#include <weft/weft.h>

namespace {

constexpr int64_t block_size = 4096;

double cpu_us() {
    timespec used{};
    ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return static_cast<double>(used.tv_sec) * 1e6 + static_cast<double>(used.tv_nsec) / 1e3;
}

void make_file(const std::string& path, uint64_t bytes) {
    weft::fs::file f(path, {.mode = weft::fs::access::read_write, .create = true});
    const std::string piece(1 << 20, 'x');
    for (uint64_t at = f.size(); at < bytes; at += piece.size()) f.pwrite(piece, static_cast<int64_t>(at));
    f.sync();
}

// Evicts all its pages, and disables readahead.
void evict(const weft::fs::file& f) {
    ::posix_fadvise(f.native_handle(), 0, 0, POSIX_FADV_DONTNEED);
    ::posix_fadvise(f.native_handle(), 0, 0, POSIX_FADV_RANDOM);
}

void measure(const std::string& path, unsigned procs, int readers, bool from_disk) {
    constexpr int reads = 4800;
    weft::runtime rt({.procs = procs});
    rt.run([&] {
        weft::fs::file f(path);
        const auto blocks = from_disk ? static_cast<int64_t>(f.size()) / block_size : 256;
        char warm[block_size];
        for (int64_t i = 0; i < 256 && !from_disk; ++i) static_cast<void>(f.pread(warm, i * block_size));
        if (from_disk) evict(f);
        const auto began = std::chrono::steady_clock::now();
        const double cpu_began = cpu_us();
        weft::wait_group all;
        for (int r = 0; r < readers; ++r) {
            all.go([&, r] {
                uint64_t random = static_cast<uint64_t>(r) * 7919 + 1;
                char b[block_size];
                for (int i = 0; i < reads / readers; ++i) {
                    random = random * 6364136223846793005U + 1442695040888963407U;
                    static_cast<void>(f.pread(b, static_cast<int64_t>(random >> 33) % blocks * block_size));
                }
            });
        }
        all.wait();
        const std::chrono::duration<double, std::micro> taken = std::chrono::steady_clock::now() - began;
        std::printf("%s, P=%u, %2d at a time: %7.2f us, CPU %6.2f us, %zu threads\n",
                    from_disk ? "from disk" : "from memory", procs, readers, taken.count() / reads,
                    (cpu_us() - cpu_began) / reads, rt.stats().threads);
    });
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 2) {
        std::fprintf(stderr, "file_reads FILE [MIB]\n");
        return 2;
    }
    const uint64_t mib = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 512;
    make_file(argv[1], mib << 20);
    for (const unsigned procs : {1U, 2U}) {
        measure(argv[1], procs, 1, false);
        for (const int readers : {1, 4, 16}) measure(argv[1], procs, readers, true);
    }
    return 0;
}
