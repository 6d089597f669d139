// sim_rates.cc: how fast simulations run.
//
//     sim_rates
//
// Prints schedules per second of three green threads that use a lock and a channel, simulated
// sleeps per second, and the time of 100 clients that each get 1000 answers over simulated sockets.
// Each line is the median of five runs.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <utility>
#include <vector>

#include <weft/net/resolve.h>
#include <weft/net/tcp.h>
#include <weft/sim/network.h>
#include <weft/sim/sim.h>
#include <weft/weft.h>

namespace {

using namespace std::chrono_literals;
using weft::sim::report;
using weft::sim::strategy;

double median_seconds(const std::function<void()>& f) {
    std::vector<double> all;
    for (int i = 0; i < 5; ++i) {
        const auto begin = std::chrono::steady_clock::now();
        f();
        all.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
    }
    std::sort(all.begin(), all.end());
    return all[2];
}

void must_pass(const report& r) {
    if (r) return;
    std::fprintf(stderr, "sim_rates: %s\n", r.text().c_str());
    std::exit(1);
}

void three_green_threads() {
    weft::mutex m;
    const weft::chan<int> done(2);
    int x = 0;
    for (int i = 0; i < 2; ++i) {
        weft::go([&] {
            for (int k = 0; k < 3; ++k) {
                m.lock();
                ++x;
                m.unlock();
            }
            done.send(x);
        });
    }
    static_cast<void>(done.recv());
    static_cast<void>(done.recv());
}

void schedules(strategy pick, const char* name) {
    constexpr uint64_t count = 20'000;
    uint64_t steps = 0;
    const double s = median_seconds([&] {
        const report r = weft::sim::explore({.schedules = count, .pick = pick}, three_green_threads);
        must_pass(r);
        steps = r.steps;
    });
    std::printf("%-14s %10.0f schedules/s, %4.1f steps each\n", name, static_cast<double>(count) / s,
                static_cast<double>(steps) / static_cast<double>(count));
}

void sleeps() {
    constexpr int count = 200'000;
    const double s = median_seconds([] {
        must_pass(weft::sim::explore({.schedules = 1}, [] {
            for (int i = 0; i < count; ++i) weft::sleep_for(1h);
        }));
    });
    std::printf("%-14s %10.0f sleeps/s\n", "sleep", count / s);
}

void serve(weft::net::tcp_stream s) {
    char bytes[64];
    while (const std::size_t n = s.read_some(bytes)) s.write_all({bytes, n});
}

void ask(int requests) {
    weft::net::tcp_stream s = weft::net::dial("srv:7");
    char bytes[64] = {};
    for (int i = 0; i < requests; ++i) {
        s.write_all(bytes);
        if (s.read(bytes) != sizeof(bytes)) std::exit(1);
    }
}

void echo() {
    constexpr int clients = 100;
    constexpr int requests = 1000;
    const double s = median_seconds([] {
        must_pass(weft::sim::explore({.schedules = 1, .max_steps = 100'000'000}, [] {
            const weft::sim::network net({.latency = 1ms});
            weft::net::tcp_listener l = net.listen("srv:7");
            weft::wait_group all;
            all.go([&] {
                for (int i = 0; i < clients; ++i) all.go([s = l.accept()]() mutable { serve(std::move(s)); });
            });
            for (int i = 0; i < clients; ++i) all.go([] { ask(requests); });
            all.wait();
        }));
    });
    std::printf("%-14s %10.2f s for 100 clients of 1000 requests\n", "echo", s);
}

}  // namespace

int main() {
    schedules(strategy::portfolio, "portfolio");
    schedules(strategy::random_walk, "random_walk");
    schedules(strategy::pct, "pct");
    schedules(strategy::partial_order, "partial_order");
    schedules(strategy::uniform_walk, "uniform_walk");
    sleeps();
    echo();
    return 0;
}
