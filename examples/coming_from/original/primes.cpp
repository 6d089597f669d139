// primes.cpp: fibers on several threads, with work stealing and buffered channels, count primes
// below a limit and find the largest gap between two of them in each range.
// Compile it: g++ -std=c++17 primes.cpp -lboost_fiber -lboost_context -pthread
#include <algorithm>
#include <boost/fiber/all.hpp>
#include <cstdint>
#include <cstdio>
#include <mutex>
#include <thread>
#include <vector>

namespace fibers = boost::fibers;

constexpr std::uint32_t threads = 2;

struct range {
    std::uint32_t first;
    std::uint32_t last;  // exclusive
};

struct found {
    int primes;
    std::uint32_t largest_gap;
};

bool is_prime(std::uint32_t n) {
    if (n < 2) return false;
    for (std::uint32_t d = 2; d * d <= n; ++d) {
        if (n % d == 0) return false;
    }
    return true;
}

found search(range r) {
    found result{0, 0};
    std::uint32_t previous = 0;
    for (std::uint32_t n = r.first; n < r.last; ++n) {
        if (!is_prime(n)) continue;
        ++result.primes;
        if (previous != 0) result.largest_gap = std::max(result.largest_gap, n - previous);
        previous = n;
        if (result.primes % 100 == 0) boost::this_fiber::yield();
    }
    return result;
}

found count(std::uint32_t limit, int workers) {
    fibers::buffered_channel<range> ranges(16);  // a power of two; holds 15
    fibers::buffered_channel<found> results(16);
    std::vector<fibers::fiber> all;
    for (int i = 0; i < workers; ++i) {
        all.emplace_back(fibers::launch::post, [&] {
            for (const range& r : ranges) results.push(search(r));
        });
    }
    fibers::fiber feeder([&] {
        for (std::uint32_t n = 0; n < limit; n += 10'000) ranges.push({n, std::min(n + 10'000, limit)});
        ranges.close();
        for (fibers::fiber& f : all) f.join();
        results.close();
    });
    found total{0, 0};
    for (const found& f : results) {
        total.primes += f.primes;
        total.largest_gap = std::max(total.largest_gap, f.largest_gap);
    }
    feeder.join();
    return total;
}

// The other threads only run fibers, until the main one says that all is done.
class fiber_threads {
public:
    fiber_threads() {
        for (std::uint32_t i = 1; i < threads; ++i) {
            others_.emplace_back([this] {
                fibers::use_scheduling_algorithm<fibers::algo::work_stealing>(threads, true);
                std::unique_lock<fibers::mutex> hold(lock_);
                done_changed_.wait(hold, [this] { return done_; });
            });
        }
        fibers::use_scheduling_algorithm<fibers::algo::work_stealing>(threads, true);
    }

    ~fiber_threads() {
        {
            const std::lock_guard<fibers::mutex> hold(lock_);
            done_ = true;
        }
        done_changed_.notify_all();
        for (std::thread& t : others_) t.join();
    }

private:
    fibers::mutex lock_;
    fibers::condition_variable done_changed_;
    bool done_ = false;
    std::vector<std::thread> others_;
};

int main() {
    fiber_threads running;
    fibers::future<found> total = fibers::async([] { return count(200'000, 8); });
    const found f = total.get();
    std::printf("%d primes below 200000, largest gap %u\n", f.primes, f.largest_gap);
}
