// pipeline.cc: three stages over bounded channels. A slow stage slows down the ones before it, and
// an error in any stage ends all.
// See: docs/cookbook/pipeline.md
#include <atomic>
#include <chrono>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <utility>

#include <weft/weft.h>

using namespace std::chrono_literals;

namespace {

constexpr int room = 4;     // of each channel
constexpr int parsers = 3;  // green threads of the second stage

std::atomic<int> in_flight = 0;
std::atomic<int> most_in_flight = 0;

// Stage 1.
void read(int lines, const weft::chan<std::string>& to) {
    for (int i = 1; i <= lines; ++i) {
        const int now = ++in_flight;
        if (now > most_in_flight) most_in_flight = now;  // only this stage writes it
        to.send(std::to_string(i));
    }
    to.close();
}

// Stage 2. Closes its output when all of its green threads have ended.
void parse(const weft::chan<std::string>& from, const weft::chan<int>& to, const std::string& bad) {
    weft::scope([&](weft::task_scope& s) {
        for (int i = 0; i < parsers; ++i) {
            s.go({.name = "parser"}, [&] {
                for (const std::string& line : from) {
                    if (line == bad) throw std::runtime_error("cannot parse line " + line);
                    to.send(std::stoi(line));
                }
            });
        }
    });
    to.close();
}

// Stage 3, the slowest.
long add_up(const weft::chan<int>& from) {
    long sum = 0;
    for (const int n : from) {
        --in_flight;
        if (n % 10 == 0) weft::sleep_for(100us);
        sum += n;
    }
    return sum;
}

long run(int lines, const std::string& bad) {
    const weft::chan<std::string> read_lines(room);
    const weft::chan<int> parsed(room);
    return weft::scope([&](weft::task_scope& s) {
        s.go({.name = "read"}, [&] { read(lines, read_lines); });
        s.go({.name = "parse"}, [&] { parse(read_lines, parsed, bad); });
        return add_up(parsed);
    });
}

}  // namespace

int main() {
    return weft::main([] {
        std::printf("the sum is %ld\n", run(1000, "none"));
        // In channels, in the hands of a parser, of the reader, and of the last stage.
        const int limit = 2 * room + parsers + 2;
        std::printf("more than %d lines under way: %s\n", limit, most_in_flight > limit ? "yes" : "no");
        try {
            run(1000, "500");
        } catch (const std::runtime_error& e) {
            std::printf("all stages have ended: %s\n", e.what());
        }
    });
}
