// parked.cc: a program that gdb_recipe.py stops in stop_here(), while green threads wait in known
// functions.
#include <chrono>
#include <cstdlib>

#include <weft/weft.h>

extern "C" [[gnu::noinline]] void stop_here() { asm volatile(""); }

namespace {

[[gnu::noinline]] void serve(const weft::chan<int>& requests) {
    for (const int request : requests) static_cast<void>(request);
}

[[gnu::noinline]] void rest() {
    weft::sleep_for(std::chrono::hours(1));
    asm volatile("");  // no tail call
}

}  // namespace

int main() {
    return weft::main({.procs = 1}, [] {
        constexpr unsigned others = 2;
        const weft::chan<int> requests;
        weft::go({.name = "server"}, [requests] { serve(requests); });
        weft::go({.name = "sleeper"}, [] { rest(); });
        while (weft::stats().waiting < others) weft::yield();
        stop_here();
        requests.close();
        std::exit(0);  // the sleeper still sleeps
    });
}
