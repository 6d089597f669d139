// 11_scopes.cc: scopes, timeouts and cancellation.
//
// - scope(f) calls f with a task_scope, whose go() starts green threads. It returns when f and all
//   of them have finished. They may use the variables around the scope, but not those inside f,
//   which are destroyed earlier.
// - The first exception cancels the others: their waits throw weft::cancelled, which unwinds them.
//   Then scope() rethrows the first exception.
// - with_timeout sets a deadline for everything inside it; no parameter is needed to pass it on.
//   Waits past the deadline throw weft::timed_out.
// - A destructor may wait while one of these exceptions unwinds the stack. shield() protects code
//   that must finish.
// - future::cancel cancels a single green thread.
//
// Prints:
//     two halves: 500500
//     the others were cancelled: 3; the scope threw: no such mirror
//     the first mirror that answered: mirror 2
//     given up after 5 ms; said goodbye
//     written to the end although the deadline had passed
//     cancelled: the future has no result
#include <atomic>
#include <chrono>
#include <cstdio>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

#include <weft/weft.h>

using namespace std::chrono_literals;

namespace {

void wait_for_both_halves() {
    std::vector<long> v(1000);
    std::iota(v.begin(), v.end(), 1);
    const auto middle = v.begin() + 500;
    long left = 0;
    long right = 0;
    weft::scope([&](weft::task_scope& s) {
        s.go([&] { left = std::accumulate(v.begin(), middle, 0L); });
        s.go([&] { right = std::accumulate(middle, v.end(), 0L); });
    });
    std::printf("two halves: %ld\n", left + right);
}

void one_fails() {
    std::atomic<int> cancelled = 0;
    try {
        weft::scope([&](weft::task_scope& s) {
            for (int i = 0; i < 3; ++i) {
                s.go([&] {
                    try {
                        weft::sleep_for(10s);
                    } catch (const weft::cancelled&) {
                        ++cancelled;
                        throw;
                    }
                });
            }
            s.go([] {
                weft::sleep_for(1ms);
                throw std::runtime_error("no such mirror");
            });
        });
    } catch (const std::runtime_error& e) {
        std::printf("the others were cancelled: %d; the scope threw: %s\n", cancelled.load(), e.what());
    }
}

// Asks all mirrors, returns the first answer and cancels the other requests. None of them runs when
// it returns.
std::string first_answer() {
    const weft::chan<std::string> answers(3);
    std::string first;
    weft::scope([&](weft::task_scope& s) {
        for (int i = 0; i < 3; ++i) {
            s.go([=] {
                weft::sleep_for(i == 2 ? 1ms : 10s);
                answers.send("mirror " + std::to_string(i));
            });
        }
        first = answers.recv().value();
        s.cancel();
    });
    return first;
}

// Says goodbye in its destructor, whatever ends it.
struct connection {
    weft::chan<int> closed = weft::chan<int>(1);

    ~connection() {
        closed.send(1);
        if (closed.recv() == 1) std::puts("; said goodbye");
    }
};

void not_longer_than_5_ms() {
    try {
        weft::with_timeout(5ms, [] {
            const connection c;
            const struct note {
                ~note() { std::printf("given up after 5 ms"); }
            } on_the_way_out;
            weft::scope([](weft::task_scope& s) {
                for (int i = 0; i < 100; ++i) s.go([] { weft::sleep_for(10s); });
            });
        });
    } catch (const weft::timed_out&) {}
}

void what_has_to_be_finished() {
    weft::with_timeout(0s, [] {
        weft::shield([] { weft::sleep_for(1ms); });
        std::puts("written to the end although the deadline had passed");
    });
}

void one_future() {
    weft::future<int> f = weft::async([] {
        weft::sleep_for(10s);
        return 1;
    });
    f.cancel();
    try {
        f.get();
    } catch (const weft::cancelled&) {
        std::puts("cancelled: the future has no result");
    }
}

}  // namespace

int main() {
    return weft::main([] {
        wait_for_both_halves();
        one_fails();
        std::printf("the first mirror that answered: %s\n", first_answer().c_str());
        not_longer_than_5_ms();
        what_has_to_be_finished();
        one_future();
    });
}
