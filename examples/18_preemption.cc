// 18_preemption.cc: computations that let others have their turn, although none of them ever waits.
//
// One processor, and three ways to compute for long. The short job that is started beside each needs a turn of a few microseconds; how
// it gets one is in docs/preemption.md. This file is compiled with weft_instrument(), see examples/CMakeLists.txt.
//
// See: docs/preemption.md

#include <atomic>
#include <cstdint>
#include <cstdio>

#include <weft/weft.h>

namespace {

std::atomic<bool> job_is_done = false;

// Looks by itself.
void with_checkpoints() {
    while (!job_is_done) weft::checkpoint();
}

// Looks at the beginning of each function: the compiler has seen to that.
[[gnu::noinline]] std::uint64_t fib(std::uint64_t n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }

void with_functions() {
    std::uint64_t sum = 0;
    while (!job_is_done) sum += fib(20);
    if (sum == 1) std::puts("(never)");
}

// Never looks, and may be interrupted in the middle of an addition.
void with_arithmetic() {
    const weft::preemptible here;
    std::uint64_t x = 1;
    while (!job_is_done.load(std::memory_order_relaxed)) x = x * 3 + 1;
}

void beside(const char* what, void (*computation)()) {
    job_is_done = false;
    weft::wait_group all;
    all.go([=] {
        job_is_done = true;
        std::printf("a turn beside %s\n", what);
    });
    all.go([=] { computation(); });  // runs first, and until the other one is done
    all.wait();
}

}  // namespace

int main() {
    weft::runtime one({.procs = 1});
    one.run([] {
        beside("checkpoints", &with_checkpoints);
        beside("functions", &with_functions);
        beside("arithmetic", &with_arithmetic);
    });
}
