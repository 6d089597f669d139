// 25_signals: a service that works until a signal tells it to end, and then cleans up. Prints the
// requests and signals that it has received.
//
//   25_signals            sends itself what an operator would send
//   25_signals serve      works until it is interrupted: Ctrl-C, or kill
#include <signal.h>  // NOLINT(modernize-deprecated-headers): POSIX's
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <optional>

#include <weft/signals.h>
#include <weft/weft.h>

using namespace std::chrono_literals;

// SIGHUP reads the configuration again; SIGINT and SIGTERM end the loop.
void serve(const weft::chan<int>& requests) {
    const weft::signals::subscription reload = weft::signals::notify({SIGHUP});
    const weft::signals::subscription stop = weft::signals::notify({SIGINT, SIGTERM});
    requests.send(0);  // from here on, signals are received
    for (bool stopping = false; !stopping;) {
        weft::select(weft::on_recv(reload.channel(),
                                   [](std::optional<int>) { std::printf("the configuration is read again\n"); }),
                     weft::on_recv(stop.channel(),
                                   [&](std::optional<int> signal) {
                                       std::printf("ended by signal %d\n", signal.value_or(0));
                                       stopping = true;
                                   }),
                     weft::on_recv(requests, [](std::optional<int> r) { std::printf("request %d\n", r.value_or(0)); }));
    }
    // The subscriptions end here, so a second signal ends the program at once.
}

// Does what an operator would do.
void operate(const weft::chan<int>& requests) {
    requests.recv();
    requests.send(1);
    ::kill(::getpid(), SIGHUP);
    weft::sleep_for(20ms);
    requests.send(2);
    ::kill(::getpid(), SIGTERM);
}

int main(int argc, char**) {
    return weft::main([=] {
        const weft::chan<int> requests;
        weft::wait_group all;
        all.go([&] { serve(requests); });
        if (argc == 1) {
            operate(requests);
        } else {
            requests.recv();
        }
        all.wait();
        std::printf("all is in order\n");
    });
}
