// 56_patterns.cc: a limit on the rate, retries, tasks that fail together, units of different sizes,
// and adaptors of channels.
// See: docs/patterns.md, docs/channels.md#adaptors, docs/semaphore.md
#include <atomic>
#include <chrono>
#include <cstdio>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

#include <weft/backoff.h>
#include <weft/chan_adaptors.h>
#include <weft/rate_limiter.h>
#include <weft/semaphore_guard.h>
#include <weft/task_group.h>
#include <weft/timeout_or_nullopt.h>
#include <weft/weft.h>
#include <weft/weighted_semaphore.h>

using namespace std::chrono_literals;

namespace {

// At most 1000 calls a second, and five at once after a pause.
void limit_the_rate() {
    weft::rate_limiter calls({.tokens = 1000, .per = 1s, .burst = 5});
    const auto begin = std::chrono::steady_clock::now();
    weft::wait_group callers;
    for (int i = 0; i < 15; ++i) {
        callers.go([&] {
            calls.acquire();  // waits for its turn
        });
    }
    callers.wait();
    const bool held = std::chrono::steady_clock::now() - begin >= 10ms;
    std::printf("15 calls took at least 10 ms: %s\n", held ? "yes" : "no");
    weft::rate_limiter hourly({.tokens = 3, .per = 1h, .burst = 3});
    const bool three = hourly.try_acquire(3);
    const bool fourth = hourly.try_acquire();
    std::printf("three at once: %s, a fourth: %s\n", three ? "yes" : "no", fourth ? "yes" : "no");
}

// Fails twice.
int fetch(int& attempts) {
    if (++attempts < 3) throw std::runtime_error("503");
    return 42;
}

int fetch_with_retries(int& attempts) {
    weft::backoff pauses({.first = 1ms, .longest = 20ms});
    for (;;) {
        try {
            return fetch(attempts);
        } catch (const std::runtime_error&) {
            if (pauses.count() == 4) throw;
        }
        pauses.wait();  // 0.5 to 1 ms, 1 to 2 ms, …
    }
}

void visit(int place) {
    if (place == 3) throw std::runtime_error("place 3 is closed");
    if (place > 3) weft::sleep_for(1h);  // the first exception ends that
}

void fail_together() {
    try {
        weft::task_group tasks;
        tasks.limit(3);
        for (int i = 1; i <= 6; ++i) tasks.go([&, i] { visit(i); });
        tasks.wait();  // throws the first exception; all have ended
    } catch (const std::runtime_error& e) {
        std::printf("failed: %s\n", e.what());
    }
}

void wait_with_a_limit() {
    const std::optional<int> slow = weft::with_timeout_or_nullopt(1ms, [] {
        weft::sleep_for(1h);
        return 1;
    });
    std::printf("an hour within a millisecond: %s\n", slow ? "yes" : "no");
}

// Images of different sizes share a budget of memory.
void share_memory() {
    weft::weighted_semaphore megabytes(64);
    std::atomic<long> used = 0;
    std::atomic<bool> exceeded = false;
    weft::wait_group all;
    for (const int size : {40, 10, 60, 20, 5}) {
        all.go([&, size] {
            const weft::semaphore_guard hold(megabytes, size);
            if ((used += size) > 64) exceeded = true;
            weft::yield();
            used -= size;
        });
    }
    all.wait();
    std::printf("more than 64 MB at a time: %s\n", exceeded ? "yes" : "no");
}

weft::chan<int> numbers(int first, int last) {
    const weft::chan<int> c;
    weft::go([=] {
        for (int i = first; i <= last; ++i) c.send(i);
        c.close();
    });
    return c;
}

void adapt_channels() {
    int sum = 0;
    for (const int n : weft::merge<int>({numbers(1, 10), numbers(11, 30), numbers(31, 100)})) sum += n;
    std::printf("sum of three channels: %d\n", sum);

    for (const std::vector<int>& rows : weft::batch(numbers(1, 10), 4, 1h))
        std::printf("a batch of %zu from %d on\n", rows.size(), rows.front());

    const weft::chan<int> position(1);
    for (int i = 0; i < 100; ++i) weft::send_latest(position, i);
    std::printf("newest position: %d\n", position.recv().value());

    std::atomic<int> received = 0;
    weft::scope([&](weft::task_scope& s) {
        for (auto& copy : weft::fan_out(s, numbers(1, 10), 3)) {
            s.go([&received, copy] {
                for (const int n : copy) received += n;
            });
        }
    });
    std::printf("sum of three copies: %d\n", received.load());
}

}  // namespace

int main() {
    return weft::main([] {
        limit_the_rate();
        int attempts = 0;
        const int got = fetch_with_retries(attempts);
        std::printf("got %d in attempt %d\n", got, attempts);
        fail_together();
        wait_with_a_limit();
        share_memory();
        adapt_channels();
    });
}
