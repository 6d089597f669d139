// periodic_task.cc: a function that is called every millisecond until its owner is destroyed.
// See: docs/cookbook/periodic_task.md
#include <atomic>
#include <chrono>
#include <cstdio>
#include <functional>
#include <utility>

#include <weft/weft.h>

using namespace std::chrono_literals;

namespace {

class periodic_task {
public:
    periodic_task(std::chrono::nanoseconds period, std::function<void()> f) {
        loop_.go({.name = "periodic"}, [this, period, f = std::move(f)] {
            const weft::ticker every(period);
            for (bool stopping = false; !stopping;) {
                weft::select(weft::on_event(stop_, [&] { stopping = true; }),
                             weft::on_recv(every.chan(), [&](auto /*due*/) { f(); }));
            }
        });
    }

    periodic_task(const periodic_task&) = delete;
    periodic_task& operator=(const periodic_task&) = delete;

    // Waits for a call that is under way. No call comes afterwards.
    ~periodic_task() {
        stop_.set();
        loop_.wait();
    }

private:
    weft::event stop_;
    weft::wait_group loop_;
};

}  // namespace

int main() {
    return weft::main([] {
        std::atomic<int> calls = 0;
        weft::event five_calls;
        {
            const periodic_task task(1ms, [&] {
                if (++calls == 5) five_calls.set();
            });
            five_calls.wait();
        }
        const int before = calls;
        weft::sleep_for(5ms);
        std::printf("called at least five times: %s\n", before >= 5 ? "yes" : "no");
        std::printf("called after it was stopped: %s\n", calls == before ? "no" : "yes");
    });
}
