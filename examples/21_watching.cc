// 21_watching.cc: what a running program can tell about itself.
//
// - stats() counts green threads by state. scheduling_latency() tells how long they waited for a
//   processor.
// - A runtime can report a deadlock of its green threads: which of them wait, for what and where.
//   Under weft::main it reports by itself, and the program ends.
//
// The environment variable RUN_DEBUG observes an unmodified program:
//
// - schedtrace=1000 writes a line each second.
// - dumpsignal=QUIT writes what every green thread does, upon kill -QUIT.
// - watchdog=100 reports green threads that compute for too long.
//
// Prints:
//     1 runs, 1 is in a call, 3 wait, 2 are queued
//     no green thread waited for a minute
//     stuck: 2 of runtime "workers" wait
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <string>
#include <thread>

#include <weft/weft.h>

namespace {

void count_by_what_they_do() {
    weft::runtime rt({.procs = 1});
    const weft::chan<int> never;
    std::atomic<bool> calls{false};
    std::atomic<bool> over{false};
    for (int i = 0; i < 3; ++i) rt.go([&] { never.recv(); });
    rt.go([&] {
        weft::blocking([&] {
            calls.store(true);
            while (!over.load()) std::this_thread::yield();
        });
    });
    // The call keeps its OS thread but gives up its processor, so the next green thread runs.
    rt.go([&] {
        while (!calls.load()) weft::yield();
        weft::go([] {});
        weft::go([] {});
        weft::stats_snapshot s;
        do {
            s = weft::stats();
        } while (s.waiting != 3 || s.in_call != 1 || s.queued_local != 2);
        std::printf("%llu runs, %llu is in a call, %llu wait, %llu are queued\n",
                    static_cast<unsigned long long>(s.running), static_cast<unsigned long long>(s.in_call),
                    static_cast<unsigned long long>(s.waiting), static_cast<unsigned long long>(s.runnable));
        over.store(true);
        never.close();
    });
    rt.drain();
    const bool quick = rt.scheduling_latency().quantile_ns(1) < 60'000'000'000;
    std::printf("%s green thread waited for a minute\n", quick ? "no" : "some");
}

// Two green threads lock two mutexes in opposite order.
void report_a_deadlock() {
    weft::runtime rt({.procs = 1, .name = "workers"});
    weft::mutex a;
    weft::mutex b;
    const auto lock_both = [](weft::mutex& first, weft::mutex& second) {
        first.lock();
        weft::yield();
        second.lock();
    };
    rt.run([&] {
        weft::go([&] { lock_both(a, b); });
        weft::go([&] { lock_both(b, a); });
    });
    int ends[2];
    if (pipe(ends) != 0) return;
    while (!rt.report_deadlock(ends[1])) {}
    close(ends[1]);
    std::string text(65536, '\0');
    const ssize_t size = read(ends[0], text.data(), text.size());
    close(ends[0]);
    text.resize(size < 0 ? 0 : static_cast<std::size_t>(size));
    const std::size_t line = text.find("weft: 2 of runtime");
    if (line != text.npos) std::printf("stuck: %s\n", text.substr(line + 6, 27).c_str());
    rt.abandon();  // abandons the two
}

}  // namespace

int main() {
    count_by_what_they_do();
    report_a_deadlock();
}
