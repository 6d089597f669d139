// batching.cc: collects items into batches: of four, or of what has come within 10 ms.
// See: docs/cookbook/batching.md
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <optional>
#include <utility>
#include <vector>

#include <weft/weft.h>

using namespace std::chrono_literals;

namespace {

// Calls flush with each batch: `most` items, or fewer when `linger` has passed since the first of
// them. Returns when items is closed, after the last batch.
template <typename T, typename F>
void batch(const weft::recv_chan<T>& items, std::size_t most, std::chrono::milliseconds linger, F flush) {
    while (std::optional<T> first = items.recv()) {
        const auto deadline = std::chrono::steady_clock::now() + linger;
        std::vector<T> collected;
        collected.push_back(std::move(*first));
        while (collected.size() < most) {
            weft::recv_result<T> next = items.recv_until(deadline);
            if (!next) break;  // time is up, or the channel is closed
            collected.push_back(std::move(*next));
        }
        flush(std::move(collected));
    }
}

}  // namespace

int main() {
    return weft::main([] {
        const weft::chan<int> rows(16);
        const weft::chan<std::vector<int>> inserts;
        for (int i = 1; i <= 10; ++i) rows.send(i);
        weft::wait_group writer;
        writer.go([=] {
            batch<int>(rows, 4, 10ms, [=](std::vector<int> b) { inserts.send(std::move(b)); });
            inserts.close();
        });
        int number = 0;
        for (const std::vector<int>& b : inserts) {
            std::printf("insert of %zu rows, first is %d\n", b.size(), b.front());
            if (++number == 3) rows.close();  // the third batch came because time was up
        }
        writer.wait();
    });
}
