// blocking_library.cc: calls of a library that blocks its OS thread, two at a time, beside green
// threads that go on. Results come on a channel.
// See: docs/cookbook/blocking_library.md
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <string>

#include <weft/weft.h>

using namespace std::chrono_literals;

namespace {

// A library that knows nothing of green threads.
namespace old_library {
std::atomic<int> calls = 0;
std::atomic<bool> too_many_calls = false;

int checksum(int document) {
    if (++calls > 2) too_many_calls = true;  // it has two licences
    ::usleep(2000);
    --calls;
    return document * 11 % 97;
}
}  // namespace old_library

struct result {
    int document;
    int checksum;
};

}  // namespace

int main() {
    return weft::main([] {
        weft::blocking_pool library("old library", 2);
        const weft::chan<result> results(4);
        std::atomic<bool> done = false;
        std::atomic<int> ticks = 0;

        weft::scope([&](weft::task_scope& s) {
            s.go({.name = "something else"}, [&] {
                for (; !done; weft::sleep_for(100us)) ++ticks;
            });
            s.go([&] {
                weft::scope([&](weft::task_scope& calls) {
                    for (int document = 1; document <= 20; ++document) {
                        calls.go([&, document] {
                            results.send({document, library.run([=] { return old_library::checksum(document); })});
                        });
                    }
                });
                results.close();
            });
            int sum = 0;
            for (const result& r : results) sum += r.checksum;
            done = true;
            std::printf("20 checksums, their sum is %d\n", sum);
        });
        std::printf("more than two calls at a time: %s\n", old_library::too_many_calls ? "yes" : "no");
        std::printf("other green threads ran meanwhile: %s\n", ticks > 1 ? "yes" : "no");
    });
}
