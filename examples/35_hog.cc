// 35_hog.cc: a green thread that computes for too long, found by a recording. docs/observing.md
// explains it.
//
// needs: weft::observe
#include <chrono>
#include <cstdio>
#include <sstream>
#include <string>

#include <weft/observe/recorder.h>
#include <weft/weft.h>

using namespace std::chrono_literals;

volatile unsigned result;

// Wrong: it computes without an end in sight, and never lets another green thread run.
// weft::yield() now and then would, or code compiled by weft_instrument().
void compress() {
    const auto end = std::chrono::steady_clock::now() + 80ms;
    while (std::chrono::steady_clock::now() < end) result = result * 1'664'525 + 1'013'904'223;
}

// Works in small steps.
void serve(const bool& is_over) {
    while (!is_over) weft::yield();
}

int main() {
    // One processor that is not retaken: the effect of more hogs than processors.
    return weft::main({.procs = 1, .retake = false}, [] {
        const weft::observe::recorder recorder;
        weft::wait_group all;
        bool is_over = false;
        for (int i = 0; i < 2; ++i) {
            all.go({.name = "serve"}, [&] { serve(is_over); });
        }
        all.go({.name = "compress"}, [&] {
            weft::sleep_for(5ms);
            compress();
            is_over = true;
        });
        all.wait();
        // The longest delay, and what ran meanwhile.
        std::istringstream summary(recorder.snapshot().summary());
        for (std::string line; std::getline(summary, line);) {
            if (line.rfind("Longest delays", 0) != 0) continue;
            std::puts(line.c_str());
            for (int i = 0; i < 2 && std::getline(summary, line); ++i) std::puts(line.c_str());
        }
    });
}
