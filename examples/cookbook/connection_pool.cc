// connection_pool.cc: three connections for many green threads, made when they are needed. A
// semaphore limits their number.
// See: docs/cookbook/connection_pool.md
#include <atomic>
#include <chrono>
#include <cstdio>
#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <weft/weft.h>

using namespace std::chrono_literals;

namespace {

std::atomic<int> connections_made = 0;

struct connection {
    connection() { ++connections_made; }

    [[nodiscard]] std::string query(const std::string& text) const {
        weft::sleep_for(100us);
        return "result of " + text;
    }
};

class connection_pool {
public:
    explicit connection_pool(int most) : free_(most) {}

    // Calls f with a connection. Waits for one: a cancellation point. A connection that an
    // exception leaves behind is in an unknown state, so it is dropped.
    template <typename F>
    auto with_connection(F f) {
        free_.acquire();

        const struct place {
            weft::counting_semaphore<>& free;

            ~place() { free.release(); }
        } mine{free_};

        std::unique_ptr<connection> c = take_idle();
        if (c == nullptr) c = std::make_unique<connection>();
        auto result = f(*c);
        const std::lock_guard hold(lock_);
        idle_.push_back(std::move(c));
        return result;
    }

private:
    std::unique_ptr<connection> take_idle() {
        const std::lock_guard hold(lock_);
        if (idle_.empty()) return nullptr;
        std::unique_ptr<connection> c = std::move(idle_.back());
        idle_.pop_back();
        return c;
    }

    weft::counting_semaphore<> free_;  // places: connections that may be used or made
    weft::mutex lock_;
    std::vector<std::unique_ptr<connection>> idle_;  // guarded by lock_
};

}  // namespace

int main() {
    return weft::main([] {
        connection_pool pool(3);
        std::atomic<int> results = 0;
        weft::wait_group requests;
        for (int i = 0; i < 50; ++i) {
            requests.go([&] {
                if (pool.with_connection([](const connection& c) { return c.query("SELECT"); }) == "result of SELECT")
                    ++results;
            });
        }
        requests.wait();
        std::printf("%d results; more than 3 connections: %s\n", results.load(), connections_made > 3 ? "yes" : "no");

        connection_pool small(1);
        small.with_connection([&](connection&) {
            try {
                weft::with_timeout(2ms, [&] { small.with_connection([](connection&) { return true; }); });
            } catch (const weft::timed_out&) {
                std::printf("no connection within 2 ms\n");
            }
            return true;
        });
    });
}
