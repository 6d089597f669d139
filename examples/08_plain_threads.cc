// 08_plain_threads.cc: green threads and plain threads (std::thread) work together.
//
// Any thread may make any blocking call of weft. In a green thread the call parks the G. In a plain
// thread (a GUI's event loop, a callback of a C library, a JVM's thread) it blocks that thread.
// Neither side needs to know the kind of the other; both use the same channel, mutex, wait_group or
// future.
//
// Prints:
//     the plain thread got 1000 squares, their sum is 332833500
//     the green threads got 1000 lines from the plain thread
//     8000 additions under one mutex, by 4 plain and 4 green threads
#include <cstdio>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <weft/weft.h>

namespace {

constexpr int items = 1000;

// Green threads produce, a plain thread consumes.
void from_green_to_plain() {
    const weft::chan<int> squares(16);
    long sum = 0;
    int received = 0;
    std::thread consumer([&] {
        for (int square : squares) {
            sum += square;
            ++received;
        }
    });

    weft::wait_group producers;
    for (int i = 0; i < items; ++i) {
        producers.go([=] { squares.send(i * i); });
    }
    producers.wait();
    squares.close();
    consumer.join();
    std::printf("the plain thread got %d squares, their sum is %ld\n", received, sum);
}

// A plain thread produces, green threads consume. A plain thread may also start green threads: they
// run in the runtime of weft::main.
void from_plain_to_green() {
    const weft::chan<std::string> lines;
    std::thread reader([lines] {
        for (int i = 0; i < items; ++i) lines.send("line " + std::to_string(i));
        lines.close();
    });

    const weft::chan<int> counts;
    for (int i = 0; i < 4; ++i) {
        weft::go([=] {
            int count = 0;
            for (const std::string& line : lines) count += line.empty() ? 0 : 1;
            counts.send(count);
        });
    }
    int total = 0;
    for (int i = 0; i < 4; ++i) total += counts.recv().value();
    reader.join();
    std::printf("the green threads got %d lines from the plain thread\n", total);
}

// weft::mutex works with the standard's lock guards.
void one_mutex_for_both() {
    weft::mutex m;
    int additions = 0;
    const auto add_some = [&] {
        for (int i = 0; i < items; ++i) {
            const std::lock_guard lock(m);
            ++additions;
        }
    };

    std::vector<std::thread> plain;
    weft::wait_group green;
    for (int i = 0; i < 4; ++i) {
        plain.emplace_back(add_some);
        green.go(add_some);
    }
    green.wait();
    for (std::thread& t : plain) t.join();
    std::printf("%d additions under one mutex, by 4 plain and 4 green threads\n", additions);
}

}  // namespace

int main() {
    return weft::main([] {
        from_green_to_plain();
        from_plain_to_green();
        one_mutex_for_both();
    });
}
