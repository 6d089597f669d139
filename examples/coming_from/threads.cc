// threads.cc: original/log_processor.cpp, ported in two steps: first with the same structure, then
// with channels and scopes.
// See: docs/coming_from/threads.md
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include <weft/weft.h>

using namespace std::chrono_literals;

namespace {

std::string read_line(int source, int number) {
    const char* level = number % 50 == 0 ? "error" : number % 10 == 0 ? "warning" : "info";
    return std::string(level) + " source " + std::to_string(source) + " line " + std::to_string(number);
}

std::string level_of(const std::string& line) { return line.substr(0, line.find(' ')); }

using counts = std::map<std::string, int>;

namespace same_structure {

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
    weft::mutex lock_;
    weft::condition_variable not_empty_;
    weft::condition_variable not_full_;
    std::deque<T> values_;
    bool closed_ = false;
};

counts process(int sources, int lines_each, int parsers) {
    bounded_queue<std::string> lines(16);
    weft::mutex counted_lock;
    counts counted;

    weft::wait_group pool;
    for (int i = 0; i < parsers; ++i) {
        pool.go([&] {
            while (const std::optional<std::string> line = lines.pop()) {
                const std::lock_guard hold(counted_lock);
                ++counted[level_of(*line)];
            }
        });
    }
    weft::mutex done_lock;
    weft::condition_variable done_changed;
    bool done = false;
    weft::wait_group reporter;
    reporter.go([&] {
        std::unique_lock hold(done_lock);
        while (!done_changed.wait_for(hold, 10ms, [&] { return done; })) {
            const std::lock_guard also(counted_lock);
            std::fprintf(stderr, "%d errors so far\n", counted["error"]);
        }
    });
    weft::wait_group producers;
    for (int source = 1; source <= sources; ++source) {
        producers.go([&, source] {
            for (int number = 1; number <= lines_each; ++number) lines.push(read_line(source, number));
        });
    }
    producers.wait();
    lines.close();
    pool.wait();
    {
        const std::lock_guard hold(done_lock);
        done = true;
    }
    done_changed.notify_one();
    reporter.wait();
    return counted;
}

}  // namespace same_structure

namespace with_channels {

counts process(int sources, int lines_each, int parsers) {
    const weft::chan<std::string> lines(16);
    const weft::chan<counts> parts(1);

    return weft::scope([&](weft::task_scope& s) {
        s.go({.name = "sources"}, [&] {
            weft::scope([&](weft::task_scope& producers) {
                for (int source = 1; source <= sources; ++source) {
                    producers.go([&, source] {
                        for (int number = 1; number <= lines_each; ++number) lines.send(read_line(source, number));
                    });
                }
            });
            lines.close();
        });
        for (int i = 0; i < parsers; ++i) {
            s.go({.name = "parser"}, [&] {
                counts mine;
                for (const std::string& line : lines) ++mine[level_of(line)];
                parts.send(std::move(mine));
            });
        }
        counts counted;
        const weft::ticker report(10ms);
        for (int ended = 0; ended < parsers;) {
            weft::select(
                weft::on_recv(parts,
                              [&](std::optional<counts> part) {
                                  for (const auto& [level, n] : *part) counted[level] += n;
                                  ++ended;
                              }),
                weft::on_recv(report.chan(), [&](auto) { std::fprintf(stderr, "%zu lines wait\n", lines.size()); }));
        }
        return counted;
    });
}

}  // namespace with_channels

void show(const char* title, const counts& counted) {
    std::printf("%s:", title);
    for (const auto& [level, n] : counted) std::printf(" %s %d", level.c_str(), n);
    std::printf("\n");
}

}  // namespace

int main() {
    return weft::main([] {
        show("the same structure", same_structure::process(3, 1000, 4));
        show("with channels", with_channels::process(3, 1000, 4));
    });
}
