// fan_in.cc: values of several producers on one channel, which is closed after the last of them.
// See: docs/cookbook/fan_in.md
#include <cstdio>
#include <utility>
#include <vector>

#include <weft/weft.h>

namespace {

// A producer: the numbers from first to last, then the channel is closed.
weft::recv_chan<int> numbers(int first, int last) {
    const weft::chan<int> c;
    weft::go([=] {
        for (int i = first; i <= last; ++i) c.send(i);
        c.close();
    });
    return c;
}

// A channel that gets what all sources get. Closed when all sources are closed and drained.
template <typename T>
weft::recv_chan<T> merge(std::vector<weft::recv_chan<T>> sources) {
    const weft::chan<T> merged;
    weft::go({.name = "merge"}, [sources = std::move(sources), merged] {
        weft::wait_group copiers;
        for (const weft::recv_chan<T>& source : sources) {
            copiers.go([source, merged] {
                for (auto&& value : source) merged.send(std::move(value));
            });
        }
        copiers.wait();
        merged.close();
    });
    return merged;
}

}  // namespace

int main() {
    return weft::main([] {
        int count = 0;
        int sum = 0;
        for (const int n : merge<int>({numbers(1, 10), numbers(11, 30), numbers(31, 100)})) {
            ++count;
            sum += n;
        }
        std::printf("%d numbers from three producers, their sum is %d\n", count, sum);
    });
}
