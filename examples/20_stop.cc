// 20_stop.cc: stops a service in an orderly way. Green threads that wait are cancelled and clean
// up; those that are stuck are abandoned.
//
// Prints:
//     connection 1: request 7
//     connection 1 says goodbye
//     connection 1 is closed
//     1 finished, 0 abandoned, 0 did not come back

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
        // A shield: no cancellation or deadline interrupts this.
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

    // Connection 1 has answered the request and waits for the next one, which never comes.
    const weft::stop_outcome done = service.shutdown(5s);
    std::printf("%zu finished, %zu abandoned, %zu did not come back\n", done.drained, done.abandoned, done.stragglers);
    return done.stragglers == 0 ? 0 : 1;
}
