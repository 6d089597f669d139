// outside_target.cc: a program whose green threads outside_test.py reads from outside.
//
//     scene       some green threads in each state; prints "ready", and ends when its input ends
//     many N      parks N green threads in groups of known sizes, and goes on as above
//     busy        green threads that change all the time
//     abort       as scene, but ends with abort() instead of "ready"
//
// Compiled without frame pointers. A comment such as <serve> at the end of a line is its name in
// outside_test.py.
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include <weft/weft.h>

using namespace std::chrono_literals;

namespace {

std::atomic<bool> ends{false};

// Code after a call keeps it from being a tail call.
void no_tail_call() { asm volatile(""); }

[[gnu::noinline]] int serve(const weft::chan<int>& requests) {
    const int request = requests.recv().value_or(0);  // <serve>
    no_tail_call();
    return request;
}

// With a frame whose size is known only when it runs.
[[gnu::noinline]] int nest(const weft::chan<int>& requests, unsigned depth) {
    auto* space = static_cast<volatile char*>(__builtin_alloca(16 * (depth + 1)));
    space[0] = 1;
    const int sum = depth == 0 ? serve(requests) : nest(requests, depth - 1);
    no_tail_call();
    return sum + space[0];
}

[[gnu::noinline]] void lock(weft::mutex& held) {
    held.lock();  // <lock>
    no_tail_call();
    held.unlock();
}

[[gnu::noinline]] void compute() {
    while (!ends.load(std::memory_order_relaxed)) no_tail_call();
}

// Returns when the input ends.
[[gnu::noinline]] void read_input() {
    char byte = 0;
    while (::read(STDIN_FILENO, &byte, 1) > 0) no_tail_call();  // <read>
}

void wait_for_the_end() {
    weft::go({.name = "reader"}, [] {
        weft::blocking([] { read_input(); });  // <blocking>
        std::_Exit(0);
    });
    std::puts("ready");
    std::fflush(stdout);
    weft::sleep_for(24h);  // <rest>
}

void scene(bool aborts) {
    const weft::chan<int> never;
    weft::mutex held;
    held.lock();
    for (int i = 0; i < 100; ++i) {
        const weft::label_set labels{{"pool", i < 60 ? "blue" : "red"}, {"tier", "1"}};
        weft::go({.name = "worker", .labels = labels}, [never] { serve(never), no_tail_call(); });  // <worker>
    }
    for (unsigned depth = 1; depth <= 3; ++depth) {
        weft::go({.name = "nested"}, [never, depth] { nest(never, depth), no_tail_call(); });  // <nested>
    }
    weft::go({.name = "locker"}, [&held] { lock(held), no_tail_call(); });  // <locker>
    weft::go({.name = "hog"}, [] { compute(), no_tail_call(); });           // <hog>
    while (weft::stats().waiting < 104) weft::yield();
    if (aborts) std::abort();
    wait_for_the_end();
}

// Half of the green threads park in serve(), a quarter through one nest(), an eighth through two.
void many(unsigned long count) {
    const weft::chan<int> never;
    for (unsigned long i = 1; i <= count; ++i) {
        const auto depth = static_cast<unsigned>(__builtin_ctzl(i));
        weft::go([never, depth] { nest(never, depth < 5 ? depth : 5); });
    }
    while (weft::stats().waiting < count) weft::yield();
    wait_for_the_end();
}

// Pairs that play ping-pong.
void busy() {
    for (int i = 0; i < 500; ++i) {
        const weft::chan<int> there;
        const weft::chan<int> back;
        weft::go({.name = "ping"}, [there, back] {
            for (;;) {
                there.send(1);
                static_cast<void>(back.recv());
            }
        });
        weft::go({.name = "pong"}, [there, back] {
            for (;;) {
                static_cast<void>(there.recv());
                back.send(1);
            }
        });
    }
    wait_for_the_end();
}

}  // namespace

int main(int argc, char** argv) {
    const std::string what = argc > 1 ? argv[1] : "";
    return weft::main({.procs = 2}, [&] {
        if (what == "many" && argc > 2) return many(std::strtoul(argv[2], nullptr, 10));
        if (what == "busy") return busy();
        if (what == "scene" || what == "abort") return scene(what == "abort");
        std::fprintf(stderr, "outside_target scene|many N|busy|abort\n");
        std::exit(2);
    });
}
