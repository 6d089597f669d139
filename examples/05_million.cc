// 05_million.cc: parks a million green threads on one channel, then releases them.
//
// A parked G uses a few kilobytes: one page of stack and the G itself. All of them wait for the
// same channel, and closing it wakes all of them. If stacks or memory run out, go() throws
// resource_exhausted to its caller and the other green threads keep running. This program then
// continues with fewer.
//
// A million green threads use about 5 GB. The program checks the available memory first; if that is
// too little, it starts fewer and says so. An argument sets another count. Times and sizes go to
// stderr, since they differ from run to run.
//
// ctest: 20000
//
// Prints (for the argument 20000):
//     20000 green threads are parked on one channel
//     all 20000 have been released; they counted to 20000
#include <atomic>
#include <charconv>
#include <chrono>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <exception>
#include <utility>

#include <weft/weft.h>

#include "process_memory.h"

namespace {

constexpr std::uint64_t default_count = 1'000'000;
constexpr std::uint64_t most = 100'000'000;

class stopwatch {
public:
    // Seconds since construction or the last call.
    double lap() {
        const auto before = std::exchange(start_, clock::now());
        return std::chrono::duration<double>(start_ - before).count();
    }

private:
    using clock = std::chrono::steady_clock;
    clock::time_point start_ = clock::now();
};

void park_and_release(std::uint64_t count) {
    const auto resident_before = static_cast<double>(process_memory::resident_bytes());
    const auto tables_before = static_cast<double>(process_memory::page_table_bytes());

    const weft::chan<int> gate;  // nothing is ever sent on it
    std::atomic<std::uint64_t> sum{0};
    weft::wait_group arrived;
    weft::wait_group left;

    stopwatch watch;
    std::uint64_t started = 0;
    try {
        for (; started < count; ++started) {
            arrived.add();
            left.go([&] {
                arrived.done();
                gate.recv();
                sum.fetch_add(1, std::memory_order_relaxed);
            });
        }
    } catch (const std::exception& e) {  // resource_exhausted or bad_alloc
        arrived.done();                  // for the G that was not started
        std::fprintf(stderr, "no room for more: %s\n", e.what());
    }
    std::fprintf(stderr, "%-10s %6.3f s\n", "started in", watch.lap());

    arrived.wait();
    std::fprintf(stderr, "%-10s %6.3f s\n", "parked in", watch.lap());
    std::printf("%" PRIu64 " green threads are parked on one channel\n", started);

    const auto resident = static_cast<double>(process_memory::resident_bytes()) - resident_before;
    const auto tables = static_cast<double>(process_memory::page_table_bytes()) - tables_before;
    std::fprintf(stderr, "each takes %.0f bytes resident and %.0f bytes of page tables\n",
                 resident / static_cast<double>(started), tables / static_cast<double>(started));

    watch.lap();  // excludes the time of the measurements above
    gate.close();
    left.wait();
    std::fprintf(stderr, "%-10s %6.3f s\n", "released in", watch.lap());
    std::printf("all %" PRIu64 " have been released; they counted to %" PRIu64 "\n", started, sum.load());
}

}  // namespace

int main(int argc, char** argv) {
    std::uint64_t wanted = default_count;
    if (argc > 1) {
        const char* end = argv[1] + std::strlen(argv[1]);
        const auto [stop, error] = std::from_chars(argv[1], end, wanted);
        if (argc > 2 || error != std::errc() || stop != end || wanted == 0 || wanted > most) {
            std::fprintf(stderr, "usage: %s [COUNT]    how many green threads, 1 to %" PRIu64 "\n", argv[0], most);
            return 2;
        }
    }

    const std::uint64_t available = process_memory::available_bytes();
    const std::uint64_t count = process_memory::count_that_fits(wanted, available);
    if (count < wanted) {
        std::fprintf(stderr, "%" PRIu64 " MB of memory are available, which is room for %" PRIu64 " green threads\n",
                     available / 1'000'000, count);
    }
    if (count == 0) return 1;
    return weft::main([count] { park_and_release(count); });
}
