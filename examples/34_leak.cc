// 34_leak.cc: green threads that nothing will ever wake, found by their number. docs/observing.md
// explains it.
//
// needs: weft::observe
#include <unistd.h>

#include <chrono>
#include <cstdio>

#include <weft/weft.h>

using namespace std::chrono_literals;

// Wrong: if the caller has given up, nothing receives the answer. A channel for one value
// (`weft::chan<int> answer(1)`) would keep it.
[[gnu::noinline]] void look_up(const weft::chan<int>& answer) {
    weft::sleep_for(5ms);
    answer.send(42);
}

bool answer_request() {
    const weft::chan<int> answer;
    weft::go({.name = "look_up"}, [answer] { look_up(answer); });
    return static_cast<bool>(answer.recv_for(1ms));
}

int main() {
    return weft::main({.procs = 1}, [] {
        const auto before = weft::stats().live;
        int answered = 0;
        for (int request = 0; request < 100; ++request) {
            if (answer_request()) ++answered;
        }
        weft::sleep_for(50ms);
        const auto after = weft::stats().live;
        std::printf("%d of 100 requests were answered, and %d green threads more live than before\n", answered,
                    static_cast<int>(after - before));
        std::fflush(stdout);
        if (after > before) weft::dump(STDOUT_FILENO);
        ::_exit(0);  // they would wait for ever
    });
}
