// 20_stop.cc: a service that ends with good manners: what waits is cancelled and cleans up; what is stuck is left behind.

#include <chrono>
#include <cstdio>

#include <weft/weft.h>

using namespace std::chrono_literals;

namespace {

struct connection {
    int number;

    ~connection() { std::printf("connection %d is closed\n", number); }
};

void serve(int number, const weft::chan<int>& requests) {
    const connection c{number};
    try {
        for (const int request : requests) std::printf("connection %d: request %d\n", number, request);
    } catch (const weft::cancelled&) {
        // Nothing interrupts the last words.
        weft::shield([&] {
            weft::sleep_for(1ms);
            std::printf("connection %d says goodbye\n", number);
        });
        throw;
    }
}

}  // namespace

int main() {
    weft::runtime service({.procs = 1, .name = "service"});
    const weft::chan<int> requests;
    service.go([requests] { serve(1, requests); });
    requests.send(7);

    // It answers that one, and waits for the next, which does not come.
    const weft::stop_outcome done = service.stop(5s);
    std::printf("%zu finished, %zu abandoned, %zu did not come back\n", done.drained, done.abandoned, done.stragglers);
    return done.stragglers == 0 ? 0 : 1;
}
