// debounce.cc: many events in quick succession cause one action, once they have stopped for a
// while.
// See: docs/cookbook/debounce.md
#include <chrono>
#include <cstdio>
#include <optional>
#include <string>
#include <utility>

#include <weft/weft.h>

using namespace std::chrono_literals;

namespace {

// Calls act with the last event of each burst, when no event has come for `quiet`. Returns when
// events is closed.
template <typename T, typename F>
void debounce(const weft::recv_chan<T>& events, std::chrono::milliseconds quiet, F act) {
    while (std::optional<T> last = events.recv()) {
        while (weft::recv_result<T> next = events.recv_for(quiet)) last = std::move(next.value);
        act(*last);
    }
}

}  // namespace

int main() {
    return weft::main([] {
        const weft::chan<std::string> keys(16);  // what the user has typed so far
        const weft::chan<std::string> searches;
        weft::wait_group done;
        for (const char* text : {"c", "co", "cor", "coro"}) keys.send(text);
        done.go([=] {
            debounce<std::string>(keys, 5ms, [=](const std::string& text) { searches.send(text); });
            searches.close();
        });
        std::printf("search for: %s\n", searches.recv()->c_str());
        keys.send("coroutine");
        keys.close();  // the end: no need to wait for silence
        for (const std::string& text : searches) std::printf("search for: %s\n", text.c_str());
        done.wait();
    });
}
