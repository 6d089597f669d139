// log_processor.cpp: sources produce lines of a log; a pool of threads parses them and counts
// levels; a reporter looks at the counts from time to time.
// Compile it: g++ -std=c++20 log_processor.cpp -pthread
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdio>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

using namespace std::chrono_literals;

template <typename T>
class bounded_queue {
public:
    explicit bounded_queue(std::size_t room) : room_(room) {}

    void push(T value) {
        std::unique_lock hold(lock_);
        not_full_.wait(hold, [&] { return values_.size() < room_; });
        values_.push_back(std::move(value));
        not_empty_.notify_one();
    }

    // nullopt: closed and empty.
    std::optional<T> pop() {
        std::unique_lock hold(lock_);
        not_empty_.wait(hold, [&] { return !values_.empty() || closed_; });
        if (values_.empty()) return std::nullopt;
        T value = std::move(values_.front());
        values_.pop_front();
        not_full_.notify_one();
        return value;
    }

    void close() {
        const std::lock_guard hold(lock_);
        closed_ = true;
        not_empty_.notify_all();
    }

private:
    const std::size_t room_;
    std::mutex lock_;
    std::condition_variable not_empty_;
    std::condition_variable not_full_;
    std::deque<T> values_;
    bool closed_ = false;
};

std::string read_line(int source, int number) {
    const char* level = number % 50 == 0 ? "error" : number % 10 == 0 ? "warning" : "info";
    return std::string(level) + " source " + std::to_string(source) + " line " + std::to_string(number);
}

using counts = std::map<std::string, int>;

counts process(int sources, int lines_each, int parsers) {
    bounded_queue<std::string> lines(16);
    std::mutex counted_lock;
    counts counted;

    std::vector<std::thread> pool;
    for (int i = 0; i < parsers; ++i) {
        pool.emplace_back([&] {
            while (const std::optional<std::string> line = lines.pop()) {
                const std::string level = line->substr(0, line->find(' '));
                const std::lock_guard hold(counted_lock);
                ++counted[level];
            }
        });
    }
    std::mutex done_lock;
    std::condition_variable done_changed;
    bool done = false;
    std::thread reporter([&] {
        std::unique_lock hold(done_lock);
        while (!done_changed.wait_for(hold, 10ms, [&] { return done; })) {
            const std::lock_guard also(counted_lock);
            std::fprintf(stderr, "%d errors so far\n", counted["error"]);
        }
    });
    std::vector<std::thread> producers;
    for (int source = 1; source <= sources; ++source) {
        producers.emplace_back([&, source] {
            for (int number = 1; number <= lines_each; ++number) lines.push(read_line(source, number));
        });
    }
    for (std::thread& t : producers) t.join();
    lines.close();
    for (std::thread& t : pool) t.join();
    {
        const std::lock_guard hold(done_lock);
        done = true;
    }
    done_changed.notify_one();
    reporter.join();
    return counted;
}

int main() {
    for (const auto& [level, n] : process(3, 1000, 4)) std::printf("%s: %d\n", level.c_str(), n);
}
