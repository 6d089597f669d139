// 12_timers.cc: timers, tickers and functions that run later.
//
// A timer ticks once on a channel, a ticker once per period. A tick is received like any other
// value, also in a select. stop() returns whether it was in time. After it, no earlier tick is
// received, so there is nothing to drain. reset() moves a timer: this is how a program feeds a
// watchdog. after_func() calls a function on its own green thread.
//
// Prints:
//     a timer of 5 ms:                    ticked, not early
//     one that is stopped in time:        prevented, and nothing to receive
//     a ticker of 2 ms, five times:       multiples of 2 ms apart
//     a watchdog that is fed:             quiet
//     a watchdog that is not:             barks
//     a function, later:                  ran in another green thread
#include <chrono>
#include <cstdint>
#include <cstdio>

#include <weft/weft.h>

using namespace std::chrono_literals;
using std::chrono::steady_clock;

namespace {

void once() {
    const auto start = steady_clock::now();
    const weft::timer t(5ms);
    const auto due = t.chan().recv();
    std::printf("a timer of 5 ms:                    %s\n", *due - start >= 5ms ? "ticked, not early" : "early");

    weft::timer late(10s);
    const bool prevented = late.stop();
    const bool empty = late.chan().try_recv().status == weft::chan_status::would_block;
    std::printf("one that is stopped in time:        %s, and %s to receive\n", prevented ? "prevented" : "too late",
                empty ? "nothing" : "something");
}

void again_and_again() {
    const weft::ticker every(2ms);
    const auto ticks = every.chan();
    const auto first = ticks.recv().value();
    bool regular = true;
    for (int i = 0; i < 4; ++i) regular = regular && (ticks.recv().value() - first) % 2ms == 0ns;
    std::printf("a ticker of 2 ms, five times:       %smultiples of 2 ms apart\n", regular ? "" : "no ");
}

// Returns "barks" if no food arrives for patience.
const char* watch(const weft::chan<int>& food, std::chrono::milliseconds patience) {
    weft::timer dog(patience);
    const auto bark = dog.chan();
    for (;;) {
        const auto what = weft::select(weft::recv_case(food), weft::recv_case(bark));
        if (what.index() == 1) return "barks";
        if (!std::get<0>(what)) return "quiet";  // closed: stop watching
        dog.reset(patience);
    }
}

void watchdogs() {
    const weft::chan<int> food;
    weft::go([food] {
        for (int i = 0; i < 5; ++i) {
            weft::sleep_for(1ms);
            food.send(i);
        }
        food.close();
    });
    std::printf("a watchdog that is fed:             %s\n", watch(food, 10s));
    const weft::chan<int> nothing;
    std::printf("a watchdog that is not:             %s\n", watch(nothing, 5ms));
}

void a_function() {
    const weft::chan<std::uint64_t> ran;
    const weft::timer later = weft::after_func(5ms, [ran] { ran.send(weft::this_g::id()); });
    const bool elsewhere = ran.recv() != weft::this_g::id();
    std::printf("a function, later:                  ran in %s green thread\n", elsewhere ? "another" : "the same");
}

}  // namespace

int main() {
    return weft::main([] {
        once();
        again_and_again();
        watchdogs();
        a_function();
    });
}
