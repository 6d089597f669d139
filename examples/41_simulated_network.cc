// 41_simulated_network.cc: a client and a server whose connection breaks, tested in a simulation.
//
// A server keeps a number, and adds what clients ask it to. A client that gets no answer within a
// second connects again and repeats its request. If the request had arrived, and only the answer
// was lost, the server adds twice. The corrected server remembers the last request of each client.
//
// In the simulation the two run on different hosts. The schedule chooses which partitions happen,
// and when. The test below takes minutes of simulated time, a thousand times.
//
// needs: weft::sim
#include <chrono>
#include <cstdio>
#include <functional>
#include <map>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>

#include <weft/net/resolve.h>
#include <weft/net/tcp.h>
#include <weft/sim/faults.h>
#include <weft/sim/network.h>
#include <weft/sim/sim.h>
#include <weft/weft.h>

using namespace std::chrono_literals;

struct request {
    int client;
    int number;  // of the client's requests
    int add;
};

// ---- The program. It knows nothing of simulations.

class server {
public:
    explicit server(bool fixed) : fixed_(fixed) {}

    // Until the listener is closed.
    void run(weft::net::tcp_listener& l) {
        weft::wait_group connections;
        std::error_code ec;
        for (;;) {
            weft::net::tcp_stream s = l.accept(ec);
            if (ec) break;
            connections.go([this, s = std::move(s)]() mutable { serve(s); });
        }
        connections.wait();
    }

    [[nodiscard]] int sum() const { return sum_; }

private:
    void serve(weft::net::tcp_stream& s) {
        std::error_code ec;
        request r{};
        while (s.read({&r, sizeof(r)}, ec) == sizeof(r)) {
            int& last = last_[r.client];
            if (!fixed_ || r.number > last) sum_ += r.add;
            last = r.number;
            s.write_all({&sum_, sizeof(sum_)}, ec);
        }
    }

    const bool fixed_;
    int sum_ = 0;
    std::map<int, int> last_;  // by client
};

void send_until_answered(const request& r) {
    for (;;) {
        std::error_code ec;
        const bool done = weft::with_timeout(1s, [&] {
            try {
                weft::net::tcp_stream s = weft::net::dial("server:7000");
                s.write_all({&r, sizeof(r)});
                int sum = 0;
                return s.read({&sum, sizeof(sum)}) == sizeof(sum);
            } catch (const std::system_error&) {
                return false;
            } catch (const weft::timed_out&) {
                return false;
            }
        });
        if (done) return;
        weft::sleep_for(1s);
    }
}

// ---- The test.

void test(bool fixed) {
    const weft::sim::network net({.latency = 20ms});
    net.add_host("client");
    weft::net::tcp_listener listener = net.listen("server:7000");
    server s(fixed);
    weft::wait_group serving;
    serving.go([&] { s.run(listener); });

    weft::sim::run_faults(weft::sim::random_faults({"client", "server"}, {.span = 30s, .most = 3, .crashes = false}));
    weft::event sent;
    net.find("client").go([&] {
        for (int i = 1; i <= 3; ++i) {
            send_until_answered({.client = 1, .number = i, .add = 10});
            weft::sleep_for(5s);
        }
        sent.set();
    });
    sent.wait();
    listener.close();
    serving.wait();
    if (s.sum() != 30) throw std::runtime_error("the sum is " + std::to_string(s.sum()));
}

int main() {
    const weft::sim::options with{.schedules = 1000, .lateness = 0ns};
    const weft::sim::report broken = weft::sim::explore(with, [] { test(false); });
    std::printf("%s\n", broken.text().c_str());

    const weft::sim::report fixed = weft::sim::explore(with, [] { test(true); });
    std::printf("fixed: %s\n", fixed ? "no failure in 1000 schedules" : fixed.text().c_str());
}
