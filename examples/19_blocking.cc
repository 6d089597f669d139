// 19_blocking: calls that block the OS thread, beside green threads that do not wait for them.
//
// weft::blocking runs a call on the OS thread's own stack and lets others have the processor meanwhile. A blocking_pool bounds how
// many such calls are under way at once. A call that nobody has declared holds up nobody either: it is only noticed later.
#include <atomic>
#include <chrono>
#include <cstdio>
#include <thread>

#include <weft/weft.h>

namespace {

using namespace std::chrono_literals;

// Stands for a library that knows nothing of green threads.
int ask_slowly(int question) {
    std::this_thread::sleep_for(20ms);
    return 2 * question;
}

}  // namespace

int main() {
    return weft::main({.procs = 1}, [] {
        // One processor, ten calls of 20 ms, and somebody who counts.
        std::atomic<bool> asking = true;
        weft::wait_group counting;
        long turns = 0;
        counting.go([&] {
            while (asking) {
                ++turns;
                weft::yield();
            }
        });

        const auto began = std::chrono::steady_clock::now();
        std::atomic<int> sum = 0;
        weft::wait_group calls;
        for (int i = 1; i <= 10; ++i) {
            calls.go([&, i] { sum += weft::blocking([i] { return ask_slowly(i); }); });
        }
        calls.wait();
        const auto took = std::chrono::steady_clock::now() - began;
        asking = false;
        counting.wait();
        std::printf("sum %d, all at the same time: %s\n", sum.load(), took < 190ms ? "yes" : "no");
        std::printf("others had their turn meanwhile: %s\n", turns > 100 ? "yes" : "no");

        // Not more than three at once.
        weft::blocking_pool few("few", 3);
        std::atomic<int> now = 0;
        std::atomic<int> most = 0;
        for (int i = 0; i < 9; ++i) {
            calls.go([&] {
                few.run([&] {
                    const int here = ++now;
                    for (int seen = most; seen < here && !most.compare_exchange_weak(seen, here);) {}
                    std::this_thread::sleep_for(5ms);
                    --now;
                });
            });
        }
        calls.wait();
        std::printf("at most %d of them at once\n", most.load());

        // What is thrown in a call leaves it.
        try {
            weft::blocking([] { throw 7; });
        } catch (int number) {
            std::printf("caught %d\n", number);
        }
    });
}
