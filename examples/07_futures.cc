// 07_futures.cc: results and exceptions of green threads.
//
// async(f) starts f as a green thread and returns a future for its result or exception; get() parks
// the caller until then. Starting a G is cheap enough to split a recursion into Gs.
//
// An exception from async is rethrown by get(). An exception from wait_group::go is rethrown by
// wait(): the first one, the others are dropped. An exception from a plain weft::go ends the
// process, as one that leaves a std::thread does. A G may park in a catch block and resume on
// another OS thread; it keeps the exception that it handles.
//
// Prints:
//     the number of leaves is 4096
//     get() rethrew: no such page: /missing
//     wait() rethrew: job 3 failed
//     handled after a nap: disk full
#include <chrono>
#include <cstdio>
#include <stdexcept>
#include <string>

#include <weft/weft.h>

namespace {

// Counts the leaves of a full binary tree with one green thread per inner node.
int count_leaves(int depth) {
    if (depth == 0) return 1;
    weft::future<int> left = weft::async([depth] { return count_leaves(depth - 1); });
    const int right = count_leaves(depth - 1);
    return left.get() + right;
}

std::string fetch(const std::string& page) {
    if (page == "/missing") throw std::runtime_error("no such page: " + page);
    return "<html>";
}

void a_future_carries_exceptions() {
    weft::future<std::string> page = weft::async([] { return fetch("/missing"); });
    try {
        page.get();
    } catch (const std::runtime_error& e) {
        std::printf("get() rethrew: %s\n", e.what());
    }
}

void a_wait_group_carries_the_first_one() {
    weft::wait_group jobs;
    for (int i = 0; i < 8; ++i) {
        jobs.go([i] {
            if (i == 3) throw std::runtime_error("job " + std::to_string(i) + " failed");
        });
    }
    try {
        jobs.wait();  // returns or throws after all eight have finished
    } catch (const std::runtime_error& e) {
        std::printf("wait() rethrew: %s\n", e.what());
    }
}

void parking_in_a_catch_block() {
    weft::future<std::string> report = weft::async([]() -> std::string {
        try {
            throw std::runtime_error("disk full");
        } catch (const std::runtime_error& e) {
            weft::sleep_for(std::chrono::milliseconds(2));  // other Gs throw and catch on this OS thread in between
            return std::string("handled after a nap: ") + e.what();
        }
    });
    std::puts(report.get().c_str());
}

}  // namespace

int main() {
    return weft::main([] {
        std::printf("the number of leaves is %d\n", count_leaves(12));
        a_future_carries_exceptions();
        a_wait_group_carries_the_first_one();
        parking_in_a_catch_block();
    });
}
