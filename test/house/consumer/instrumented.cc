// instrumented.cc: a foreign program that computes without ever calling the runtime, compiled by
// weft_instrument().
#include <atomic>
#include <cstdio>

#include <weft/run/preempt.h>
#include <weft/weft.h>

namespace {

std::atomic<bool> had_its_turn = false;

[[gnu::noinline]] long fib(long n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }

// Computes until another green thread has run.
[[gnu::noinline]] long compute() {
    long sum = 0;
    while (!had_its_turn) sum += fib(20);
    return sum;
}

}  // namespace

int main() {
    weft::runtime one({.procs = 1});
    // This does not test that the monitor retakes the processor as the last resort: the code itself
    // must yield.
    for (int i = 0; i < 100 && one.stats().preempted == 0; ++i) {
        had_its_turn = false;
        one.run([&] {
            weft::wait_group all;
            all.go([] { had_its_turn = true; });
            all.go([&] { compute(); });  // runs first
            all.wait();
        });
    }
    const bool gave_way = one.stats().preempted != 0;
    std::puts(gave_way ? "the sum of the first hundred squares is 338350" : "it did not give way");
    return gave_way ? 0 : 1;
}
