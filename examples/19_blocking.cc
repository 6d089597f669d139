// 19_blocking: calls that block the OS thread, without holding up other green threads.
//
// weft::blocking runs a call on the OS thread's own stack; other green threads use the processor in
// the meantime. A blocking_pool limits how many such calls run at the same time. An unannounced
// blocking call does not hold up the others for good either: the runtime only notices it later.
//
// Prints:
//     sum 110, all at the same time: yes
//     others ran meanwhile: yes
//     at most 3 of them at once
//     caught 7
#include <atomic>
#include <chrono>
#include <cstdio>
#include <thread>

#include <weft/weft.h>

namespace {

using namespace std::chrono_literals;

// Stands for a library that does not know about green threads.
int ask_slowly(int question) {
    std::this_thread::sleep_for(20ms);
    return 2 * question;
}

}  // namespace

int main() {
    return weft::main({.procs = 1}, [] {
        // One processor, ten calls of 20 ms, and a green thread that counts its turns.
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
        std::printf("others ran meanwhile: %s\n", turns > 100 ? "yes" : "no");

        // At most three calls at once.
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

        // An exception that is thrown in the call propagates to the caller.
        try {
            weft::blocking([] { throw 7; });
        } catch (int number) {
            std::printf("caught %d\n", number);
        }
    });
}
