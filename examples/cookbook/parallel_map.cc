// parallel_map.cc: applies a function to all elements of a vector, on all processors.
// See: docs/cookbook/parallel_map.md
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdio>
#include <numeric>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include <weft/weft.h>

namespace {

// Returns f(x) for each x, in the order of the elements. At most `at_once` calls run at a time. The
// first exception ends the others, and is thrown.
template <typename T, typename F>
auto parallel_map(const std::vector<T>& from, std::size_t at_once, F f) {
    std::vector<std::invoke_result_t<F&, const T&>> to(from.size());
    std::atomic<std::size_t> next = 0;
    weft::scope([&](weft::task_scope& s) {
        for (std::size_t i = 0; i < std::min(at_once, from.size()); ++i) {
            s.go([&] {
                for (std::size_t at = next++; at < from.size(); at = next++) {
                    weft::throw_if_cancelled();  // f may compute, without waiting
                    to[at] = f(from[at]);
                }
            });
        }
    });
    return to;
}

long sum_of_divisors(long n) {
    if (n < 1) throw std::invalid_argument("no divisors of " + std::to_string(n));
    long sum = 0;
    for (long d = 1; d <= n; ++d) sum += n % d == 0 ? d : 0;
    return sum;
}

}  // namespace

int main() {
    return weft::main([] {
        std::vector<long> numbers(1000);
        std::iota(numbers.begin(), numbers.end(), 1);
        const std::vector<long> sums = parallel_map(numbers, 8, sum_of_divisors);
        std::printf("perfect numbers:");
        for (std::size_t i = 0; i < sums.size(); ++i) {
            if (sums[i] == 2 * numbers[i]) std::printf(" %ld", numbers[i]);
        }
        std::printf("\n");

        numbers[500] = -1;
        try {
            parallel_map(numbers, 8, sum_of_divisors);
        } catch (const std::invalid_argument& e) {
            std::printf("%s\n", e.what());
        }
    });
}
