// boost_fiber.cc: original/primes.cpp, ported from Boost.Fiber. Counts primes below a limit and
// finds the largest gap between two of them in each range.
// See: docs/coming_from/boost_fiber.md
#include <algorithm>
#include <cstdint>
#include <cstdio>

#include <weft/weft.h>

namespace {

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
        if (result.primes % 100 == 0) weft::checkpoint();
    }
    return result;
}

found count(std::uint32_t limit, int workers) {
    const weft::chan<range> ranges(16);
    const weft::chan<found> results(16);
    weft::wait_group all;
    for (int i = 0; i < workers; ++i) {
        all.go({.name = "worker"}, [&] {
            for (const range& r : ranges) results.send(search(r));
        });
    }
    weft::wait_group feeder;
    feeder.go({.name = "feeder"}, [&] {
        for (std::uint32_t n = 0; n < limit; n += 10'000) ranges.send({n, std::min(n + 10'000, limit)});
        ranges.close();
        all.wait();
        results.close();
    });
    found total{0, 0};
    for (const found& f : results) {
        total.primes += f.primes;
        total.largest_gap = std::max(total.largest_gap, f.largest_gap);
    }
    feeder.wait();
    return total;
}

}  // namespace

int main() {
    return weft::main([] {
        weft::future<found> total = weft::async([] { return count(200'000, 8); });
        const found f = total.get();
        std::printf("%d primes below 200000, largest gap %u\n", f.primes, f.largest_gap);
    });
}
