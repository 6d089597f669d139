// ordered_fan_out.cc: items are worked on at the same time, and their results come in the order of
// the items.
// See: docs/cookbook/ordered_fan_out.md
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <string>
#include <utility>

#include <weft/weft.h>

using namespace std::chrono_literals;

namespace {

std::string thumbnail(int picture) {
    weft::sleep_for(picture % 3 * 1ms);  // some take longer than others
    return "thumbnail " + std::to_string(picture);
}

// Starts work on one item after the other. The channel holds the futures in the order of the
// items. Its capacity limits how many are under way: send() waits while the oldest is not taken.
void start(int items, const weft::chan<weft::future<std::string>>& results) {
    for (int i = 0; i < items; ++i) {
        results.send(weft::async([i] { return thumbnail(i); }));
    }
    results.close();
}

}  // namespace

int main() {
    return weft::main([] {
        const weft::chan<weft::future<std::string>> results(4);
        weft::scope([&](weft::task_scope& s) {
            s.go([&] { start(8, results); });
            for (auto&& result : results) std::printf("%s\n", result.get().c_str());
        });
    });
}
