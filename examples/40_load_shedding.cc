// 40_load_shedding.cc: a server that refuses requests while green threads wait too long for a
// processor, so that those it accepts are answered soon.
//
// needs: weft::observe
#include <atomic>
#include <chrono>
#include <cstdio>
#include <string>
#include <utility>

#include <weft/net/tcp.h>
#include <weft/observe/queue_delay.h>
#include <weft/weft.h>

using namespace std::chrono_literals;
using std::chrono::steady_clock;
using weft::net::tcp_listener;
using weft::net::tcp_stream;

// Five milliseconds of work, in which other green threads may run.
void compute() {
    for (const auto end = steady_clock::now() + 5ms; steady_clock::now() < end;) weft::checkpoint();
}

void serve(tcp_stream connection, const weft::observe::queue_delay& queues) {
    std::string question(4, '\0');
    while (connection.read(question) == question.size()) {
        if (queues.overloaded()) {
            connection.write_all("busy");
            continue;
        }
        compute();
        connection.write_all("pong");
    }
}

void serve_all(tcp_listener& listener, const weft::observe::queue_delay& queues) {
    weft::wait_group connections;
    for (;;) {
        std::error_code ec;
        tcp_stream connection = listener.accept(ec);
        if (ec) break;
        connections.go([c = std::move(connection), &queues]() mutable { serve(std::move(c), queues); });
    }
    connections.wait();
}

struct result {
    std::atomic<int> answered{0};
    std::atomic<int> refused{0};
};

// That many clients ask again and again until enough() is true.
template <typename Enough>
result& load(result& r, const weft::net::endpoint& server, int clients, Enough enough) {
    weft::wait_group all;
    for (int i = 0; i < clients; ++i) {
        all.go([&] {
            tcp_stream connection = tcp_stream::connect(server);
            std::string answer(4, '\0');
            while (!enough(r)) {
                connection.write_all("ping");
                if (connection.read(answer) != answer.size()) return;
                ++(answer == "pong" ? r.answered : r.refused);
                if (answer == "busy") weft::sleep_for(10ms);  // a client that is refused tries later
            }
        });
    }
    all.wait();
    return r;
}

int main() {
    return weft::main({.procs = 1}, [] {
        // The defaults, 5 and 100 ms, are for a machine that does nothing else.
        const weft::observe::queue_delay queues({.target = 50ms, .interval = 500ms});
        tcp_listener listener(weft::net::endpoint::loopback(0));
        weft::wait_group server;
        server.go([&] { serve_all(listener, queues); });

        result light;
        load(light, listener.local_endpoint(), 1, [](const result& r) { return r.answered + r.refused >= 50; });
        std::printf("one client: %s\n", light.refused == 0 ? "nothing is refused" : "something is refused");

        result heavy;
        load(heavy, listener.local_endpoint(), 100, [](const result& r) { return r.refused >= 10; });
        std::printf("100 clients: %s\n", heavy.refused > 0 ? "some are refused" : "nothing is refused");

        weft::sleep_for(1s);
        result later;
        load(later, listener.local_endpoint(), 1, [](const result& r) { return r.answered + r.refused >= 1; });
        std::printf("one client later: it is %s\n", later.answered > 0 ? "answered" : "refused");
        listener.close();
        server.wait();
    });
}
