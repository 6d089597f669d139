// weft_budget.cc: minimal programs whose instructions are counted.
//
//     weft_budget WORKLOAD N
//
// Does N operations at P=1 and prints {"workload":…,"n":…,"mallocs":…}. budget.py runs it at two
// sizes under callgrind: both include start, stop and warm-up, so the difference is the price of
// the operations.
#include <atomic>
#include <chrono>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>

#include <weft/blocking.h>
#include <weft/semaphore.h>
#include <weft/timer.h>
#include <weft/weft.h>

#include "sched/switch.h"

// glibc's names for its allocator, so that these replacements can count and forward. operator new
// ends here too.
extern "C" {
void* __libc_malloc(size_t size);
void* __libc_calloc(size_t count, size_t size);
void* __libc_realloc(void* old, size_t size);
void* __libc_memalign(size_t alignment, size_t size);
}

namespace {

std::atomic<int64_t> mallocs{0};

void count_malloc() { mallocs.fetch_add(1, std::memory_order_relaxed); }

}  // namespace

extern "C" {

void* malloc(size_t size) {
    count_malloc();
    return __libc_malloc(size);
}

void* calloc(size_t count, size_t size) {
    count_malloc();
    return __libc_calloc(count, size);
}

void* realloc(void* old, size_t size) {
    count_malloc();
    return __libc_realloc(old, size);
}

void* memalign(size_t alignment, size_t size) {
    count_malloc();
    return __libc_memalign(alignment, size);
}

void* aligned_alloc(size_t alignment, size_t size) {
    count_malloc();
    return __libc_memalign(alignment, size);
}

int posix_memalign(void** result, size_t alignment, size_t size) {
    count_malloc();
    *result = __libc_memalign(alignment, size);
    return *result == nullptr ? 12 : 0;  // ENOMEM
}

}  // extern "C"

namespace {

void check(bool ok, const char* what) {
    if (ok) return;
    std::fprintf(stderr, "weft_budget: wrong result: %s\n", what);
    std::exit(1);
}

// Two Gs yield to each other, n yields in total.
void yield(int64_t n) {
    weft::wait_group done;
    done.add(2);
    for (int i = 0; i < 2; ++i) {
        weft::go([&done, n] {
            for (int64_t turn = 0; turn < n / 2; ++turn) weft::yield();
            done.done();
        });
    }
    done.wait();
}

// One empty G at a time.
void spawn_join(int64_t n) {
    int64_t ran = 0;
    weft::wait_group done;
    for (int64_t i = 0; i < n; ++i) {
        done.add(1);
        weft::go([&ran, &done] {
            ++ran;
            done.done();
        });
        done.wait();
    }
    check(ran == n, "every G ran once");
}

// One value back and forth over two unbuffered channels.
void round_trip(int64_t n) {
    weft::chan<int64_t> ping;
    weft::chan<int64_t> pong;
    weft::wait_group done;
    done.add(1);
    weft::go([&] {
        while (const auto value = ping.recv()) pong.send(*value + 1);
        done.done();
    });
    for (int64_t i = 0; i < n; ++i) {
        ping.send(i);
        check(pong.recv() == i + 1, "the echo");
    }
    ping.close();
    done.wait();
}

// The same while everything is recorded: weft::observe::recorder.
void recorded(int64_t n) {
    weft::detail::recording& record = *weft::detail::current_m()->home->record;
    check(weft::detail::begin_recording(record, 16'384) == 0, "memory for events");
    round_trip(n);
    weft::detail::end_recording(record);
}

// n values through a buffer of 128.
void buffered(int64_t n) {
    weft::chan<int64_t> channel(128);
    weft::go([&] {
        for (int64_t i = 0; i < n; ++i) channel.send(i);
        channel.close();
    });
    int64_t sum = 0;
    for (const int64_t value : channel) sum += value;
    check(sum == n * (n - 1) / 2, "the sum of the messages");
}

// One of four channels has values.
void select_ready(int64_t n) {
    constexpr int64_t batch = 128;
    weft::chan<int64_t> empty[3];
    weft::chan<int64_t> full(batch);
    int64_t sum = 0;
    const auto never = [](const std::optional<int64_t>&) { check(false, "nothing comes by the empty channels"); };
    const auto take = [&sum](std::optional<int64_t> value) { sum += value.value_or(0); };
    for (int64_t i = 0; i < n; ++i) {
        if (i % batch == 0) {
            for (int64_t j = i; j < i + batch && j < n; ++j) full.send(1);
        }
        weft::select(weft::on_recv(empty[0], never), weft::on_recv(empty[1], never), weft::on_recv(full, take),
                     weft::on_recv(empty[2], never));
    }
    check(sum == n, "the sum of the messages");
}

// Uncontended.
void mutex(int64_t n) {
    weft::mutex lock;
    int64_t counter = 0;
    for (int64_t i = 0; i < n; ++i) {
        lock.lock();
        ++counter;
        lock.unlock();
    }
    check(counter == n, "every turn was taken");
}

// A unit is available.
void semaphore(int64_t n) {
    weft::counting_semaphore<> units(1);
    int64_t counter = 0;
    for (int64_t i = 0; i < n; ++i) {
        units.acquire();
        ++counter;
        units.release();
    }
    check(counter == n, "every turn was taken");
}

// Started and stopped, with a few others pending.
void timer(int64_t n) {
    using namespace std::chrono_literals;
    weft::timer others[16];
    for (weft::timer& other : others) other = weft::after_func(1h, [] {});
    for (int64_t i = 0; i < n; ++i) {
        weft::timer t = weft::after_func(2h, [] {});
        check(t.stop(), "it had not fired");
    }
}

// The price of entering and leaving the runtime, without the initial lookup of the M.
void entry(int64_t n) {
    using namespace weft::detail;
    M* m = current_g_m();
    int64_t entered = 0;
    for (int64_t i = 0; i < n; ++i) {
        entered += enter(m) ? 1 : 0;
        leave(m);
    }
    check(entered == n, "the P stays if no thread waits for it");
}

// A declared blocking call that does nothing.
void blocking(int64_t n) {
    int64_t calls = 0;
    for (int64_t i = 0; i < n; ++i) weft::blocking([&calls] { ++calls; });
    check(calls == n, "every call was made");
}

struct program {
    const char* name;
    void (*run)(int64_t n);
};

constexpr program programs[] = {
    {"yield", yield},       {"spawn_join", spawn_join}, {"round_trip", round_trip}, {"buffered", buffered},
    {"recorded", recorded}, {"select", select_ready},   {"mutex", mutex},           {"semaphore", semaphore},
    {"timer", timer},       {"entry", entry},           {"blocking", blocking},
};

}  // namespace

int main(int argc, char** argv) {
    const int64_t n = argc == 3 ? std::strtoll(argv[2], nullptr, 10) : 0;
    for (const program& entry : programs) {
        if (n <= 0 || std::strcmp(argv[1], entry.name) != 0) continue;
        return weft::main(weft::runtime_options{.procs = 1}, [&] {
            entry.run(256);  // Caches fill, stacks are bound.
            const int64_t before = mallocs.load();
            entry.run(n);
            const int64_t during = mallocs.load() - before;
            std::printf("{\"workload\":\"%s\",\"n\":%" PRId64 ",\"mallocs\":%" PRId64 "}\n", entry.name, n, during);
            return 0;
        });
    }
    std::fprintf(stderr, "usage: weft_budget WORKLOAD N; there are:");
    for (const program& entry : programs) std::fprintf(stderr, " %s", entry.name);
    std::fputc('\n', stderr);
    return 2;
}
