// plug_in.cc: a foreign plug-in that contains weft, or links it. Each that contains the library has
// its own runtime.
#include <chrono>
#include <cstdio>
#include <functional>
#include <stdexcept>

#include <weft/weft.h>

namespace {

using namespace std::chrono_literals;

// The calling thread waits with a select, which uses the tables in weft's headers. One green thread
// throws, and the exception is caught here.
int sum_of_squares(weft::runtime& runtime) {
    const weft::chan<int> squares(4);
    const std::function<void()> send = [squares] {
        for (int i = 1; i <= 100; ++i) squares.send(i * i);
        squares.close();
    };
    runtime.go(send);
    int sum = 0;
    for (;;) {
        const auto got = weft::select(weft::recv_case(squares), weft::timeout_case(30s));
        if (got.index() == 1) return -1;
        if (!std::get<0>(got)) break;
        sum += *std::get<0>(got);
    }
    try {
        runtime.async([]() -> int { throw std::runtime_error("thrown in a green thread"); }).get();
        return -2;
    } catch (const std::runtime_error&) {
        return sum;
    }
}

}  // namespace

// Starts a runtime, uses it, and stops it. Returns 338350.
extern "C" int plug_in_run(void) {
    try {
        weft::runtime runtime({.procs = 2});
        const int sum = sum_of_squares(runtime);
        runtime.abandon();
        return sum;
    } catch (const std::exception& e) {
        std::fprintf(stderr, "plug-in: %s\n", e.what());
        return -3;
    }
}
