// 18_preemption.cc: computations that never wait, and still let other green threads run.
//
// The program uses one processor, and computes in three ways. Each time it also starts a short job,
// which needs a few microseconds of the processor. docs/preemption.md explains how the job gets
// them. This file is compiled with weft_instrument(); see examples/CMakeLists.txt.
//
// Prints:
//     ran beside checkpoints
//     ran beside functions
//     ran beside arithmetic
//
// See: docs/preemption.md

#include <atomic>
#include <cstdint>
#include <cstdio>

#include <weft/weft.h>

namespace {

std::atomic<bool> job_is_done = false;

// Checks for a preemption request explicitly.
void with_checkpoints() {
    while (!job_is_done) weft::checkpoint();
}

// Checks at the start of each function; the compiler inserts the check.
[[gnu::noinline]] std::uint64_t fib(std::uint64_t n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }

void with_functions() {
    std::uint64_t sum = 0;
    while (!job_is_done) sum += fib(20);
    if (sum == 1) std::puts("(never)");
}

// Never checks; may be interrupted in the middle of an addition.
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
        std::printf("ran beside %s\n", what);
    });
    all.go([=] { computation(); });  // runs first, until the other one has run
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
