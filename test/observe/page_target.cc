// page_target.cc: a program with a page, which top_test.py shows in a terminal.
//
// Prints the URL of its page, and ends when its input ends. Ten green threads wait at a channel,
// three for a mutex, one sleeps, and one works all the time. A comment such as <serve> at the end
// of a line is its name in top_test.py.
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <mutex>

#include <weft/observe/page.h>
#include <weft/weft.h>

using namespace std::chrono_literals;

namespace {

[[gnu::noinline]] void serve(const weft::chan<int>& requests) {
    static_cast<void>(requests.recv());  // <serve>
    asm volatile("");                    // no tail call
}

[[gnu::noinline]] void read_input() {
    char byte = 0;
    while (::read(STDIN_FILENO, &byte, 1) > 0) {}
}

void run() {
    const weft::observe::page page;
    const weft::chan<int> never;
    weft::mutex held;
    held.lock();
    for (int i = 0; i < 10; ++i) {
        const weft::label_set labels{{"pool", i < 4 ? "images" : "mail"}};
        weft::go({.name = "server", .labels = labels}, [never] { serve(never); });  // <server>
    }
    for (int i = 0; i < 3; ++i) {
        weft::go({.name = "locker"}, [&held] { const std::lock_guard hold(held); });  // <locker>
    }
    weft::go({.name = "worker"}, [] {  // <worker>
        for (;;) weft::sleep_for(1ms);
    });
    weft::go({.name = "reader"}, [] {
        weft::blocking([] { read_input(); });
        std::_Exit(0);
    });
    while (weft::stats().waiting < 13 || weft::stats().in_call < 1) weft::sleep_for(1ms);
    std::printf("%s\n", page.url().c_str());
    std::fflush(stdout);
    weft::sleep_for(24h);  // <main>
}

}  // namespace

int main() {
    return weft::main({.procs = 2}, [] { run(); });
}
