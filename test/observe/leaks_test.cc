// leaks_test.cc: which green threads are reported as leaked, and which are not.
#include "support/leaks.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <new>
#include <random>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

#include <weft/observe/leaks.h>
#include <weft/weft.h>

#include "observe/pprof_reader.h"
#include "support/build.h"
#include "support/captured.h"
#include "support/eventually.h"
#include "support/procs_test.h"
#include "support/scale.h"

namespace weft::test {
namespace {

using namespace std::chrono_literals;
using observe::leak_report;

// Starts one or more green threads that will wait for ever, and returns how many. The objects they
// wait for belong to them.
using leaking = unsigned (*)();

template <typename T>
using shared = std::shared_ptr<T>;

unsigned receive() {
    const chan<int> c;
    go({.name = "lost"}, [c] { c.recv(); });
    return 1;
}

unsigned receive_in_a_loop() {
    const chan<int> c(4);
    c.send(1);
    go({.name = "lost"}, [c] {
        for (int i : c) (void)i;
    });
    return 1;
}

unsigned send() {
    const chan<int> c;
    go({.name = "lost"}, [c] { c.send(1); });
    return 1;
}

unsigned send_to_a_full_channel() {
    const chan<std::string> c(1);
    c.send("a string that is too long to be stored inside");
    go({.name = "lost"}, [c] { c.send("b"); });
    return 1;
}

unsigned receive_from_no_channel() {
    go({.name = "lost"}, [] { chan<int>::nil().recv(); });
    return 1;
}

unsigned select_of_two() {
    const chan<int> a;
    const chan<int> b;
    go({.name = "lost"}, [a, b] { select(on_recv(a, [](auto&&) {}), on_recv(b, [](auto&&) {})); });
    return 1;
}

unsigned mutex_of_one_that_has_ended() {
    auto m = std::make_shared<mutex>();
    go({.name = "lost"}, [m] {
        m->lock();
        m->lock();
    });
    return 1;
}

unsigned two_mutexes() {
    struct both {
        mutex a;
        mutex b;
        latch locked{2};
    };

    auto m = std::make_shared<both>();
    go({.name = "lost"}, [m] {
        m->a.lock();
        m->locked.arrive_and_wait();
        m->b.lock();
    });
    go({.name = "lost"}, [m] {
        m->b.lock();
        m->locked.arrive_and_wait();
        m->a.lock();
    });
    return 2;
}

unsigned group_without_workers() {
    auto g = std::make_shared<wait_group>();
    g->add(1);
    go({.name = "lost"}, [g] { g->wait(); });
    return 1;
}

unsigned group_in_the_frame_of_its_waiter() {
    go({.name = "lost"}, [] {
        wait_group g;
        g.add(1);
        const chan<int> c;
        go({.name = "lost"}, [&g, c] {
            c.recv();
            g.done();
        });
        g.wait();
    });
    return 2;
}

unsigned condition() {
    struct both {
        mutex m;
        condition_variable changed;
    };

    auto b = std::make_shared<both>();
    go({.name = "lost"}, [b] {
        std::unique_lock lock(b->m);
        b->changed.wait(lock);
    });
    return 1;
}

unsigned semaphore() {
    auto s = std::make_shared<counting_semaphore<>>(0);
    go({.name = "lost"}, [s] { s->acquire(); });
    return 1;
}

unsigned event_wait() {
    auto e = std::make_shared<event>();
    go({.name = "lost"}, [e] { e->wait(); });
    return 1;
}

unsigned join_of_a_child() {
    go({.name = "lost"}, [] {
        scope([](task_scope& s) {
            const chan<int> c;
            s.go({.name = "lost"}, [c] { c.recv(); });
        });
    });
    return 2;
}

unsigned each_has_what_the_other_waits_for() {
    const chan<int> a;
    const chan<int> b;
    go({.name = "lost"}, [a, b] {
        a.recv();
        b.send(1);
    });
    go({.name = "lost"}, [a, b] {
        b.recv();
        a.send(1);
    });
    return 2;
}

constexpr struct {
    const char* name;
    leaking start;
} leaking_shapes[] = {
    {"receive", receive},
    {"receive in a loop", receive_in_a_loop},
    {"send", send},
    {"send to a full channel", send_to_a_full_channel},
    {"receive from no channel", receive_from_no_channel},
    {"select of two", select_of_two},
    {"mutex of one that has it", mutex_of_one_that_has_ended},
    {"two mutexes", two_mutexes},
    {"wait group without workers", group_without_workers},
    {"wait group in the frame of its waiter", group_in_the_frame_of_its_waiter},
    {"condition", condition},
    {"semaphore", semaphore},
    {"event", event_wait},
    {"join of a child", join_of_a_child},
    {"each has what the other waits for", each_has_what_the_other_waits_for},
};

// Waits until as many green threads wait, without the caller.
void await_waiting(const runtime& rt, uint64_t n) {
    eventually([&] {
        const stats_snapshot s = rt.stats();
        return s.live == n && s.procs_idle == s.procs;
    });
}

uint64_t found(const leak_report& r) {
    uint64_t n = r.count();
    for (const observe::wait_cycle& c : r.cycles()) n += c.links.size();
    return n;
}

class LeakSearch : public procs_test {
protected:
    void SetUp() override {
        if (built_with_sanitizer) GTEST_SKIP() << "a sanitizer has its own malloc";
    }

    // Nothing has leaked, although n green threads wait.
    void expect_none(uint64_t n) {
        await_waiting(rt(), n);
        const leak_report r = observe::leaks(rt());
        EXPECT_EQ(r.not_searched(), "");
        EXPECT_EQ(found(r), 0U) << r.text();
    }
};

WEFT_SWEEP(LeakSearch);

// An address that a thread has left in its frames can hide a leak, so one of five may be missed.
TEST_P(LeakSearch, FindsEachShape) {
    constexpr unsigned tries = 5;
    for (const auto& shape : leaking_shapes) {
        leak_on_purpose();
        unsigned complete = 0;
        std::string text;
        for (unsigned i = 0; i < tries; ++i) {
            runtime mine({.procs = procs()});
            const unsigned n = mine.run([&] { return shape.start(); });
            await_waiting(mine, n);
            const leak_report r = observe::leaks(mine);
            EXPECT_EQ(r.not_searched(), "");
            EXPECT_LE(found(r), n) << shape.name << "\n" << r.text();
            if (found(r) == n) ++complete;
            for (const observe::leak_group& g : r.groups()) EXPECT_EQ(g.name, "lost");
            text = r.text();
            mine.abandon();
        }
        EXPECT_GE(complete, tries - 1) << shape.name << "; the last one:\n" << text;
    }
}

// ---- What can be woken.

// NOLINTNEXTLINE(cert-err58-cpp)
chan<int> of_the_program;
thread_local chan<int> of_a_thread;

TEST_P(LeakSearch, AGlobalVariableCanBeReached) {
    of_the_program = chan<int>();
    rt().run([] { go([] { of_the_program.recv(); }); });
    expect_none(1);
    of_the_program.close();
}

TEST_P(LeakSearch, AThreadLocalVariableCanBeReached) {
    const chan<int> done;
    std::atomic<bool> ready{false};
    std::thread t([&] {
        of_a_thread = chan<int>();
        rt().go([c = of_a_thread] { c.recv(); });
        ready = true;
        done.recv();
        of_a_thread.close();
        of_a_thread = chan<int>::nil();
    });
    eventually([&] { return ready.load(); });
    expect_none(1);
    done.close();
    t.join();
    rt().drain();
}

TEST_P(LeakSearch, AFrameOfAPlainThreadCanBeReached) {
    const chan<int> c;
    rt().go([c] { c.recv(); });
    expect_none(1);
    c.close();
    rt().drain();
}

// The only pointer is in a register, or what the compiler makes of it.
TEST_P(LeakSearch, ARegisterCanBeReached) {
    std::atomic<int> phase{0};
    std::thread t([&] {
        auto* c = new chan<int>;
        rt().go([c] { c->recv(); });
        phase = 1;
        while (phase.load(std::memory_order_relaxed) != 2) asm volatile("" : "+r"(c));
        c->close();
        rt().drain();
        delete c;
    });
    eventually([&] { return phase.load() == 1; });
    expect_none(1);
    phase = 2;
    t.join();
}

TEST_P(LeakSearch, ALongChainOnTheHeapCanBeReached) {
    std::list<std::pair<int, chan<int>>> many;
    for (int i = 0; i < 10'000; ++i) many.emplace_back(i, chan<int>::nil());
    many.back().second = chan<int>();
    rt().go([c = many.back().second] { c.recv(); });
    expect_none(1);
    many.back().second.close();
    rt().drain();
}

TEST_P(LeakSearch, AnAddressInsideABlockCounts) {
    struct large {
        std::array<char, 5000> before;
        wait_group g;
        std::array<char, 300'000> after;  // more than malloc takes from its heap
    };

    auto one = std::make_unique<large>();
    one->g.add(1);
    wait_group* inside = &one->g;
    auto hidden = ~reinterpret_cast<uintptr_t>(one.release());
    rt().go([inside] { inside->wait(); });
    expect_none(1);
    inside->done();
    rt().drain();
    delete reinterpret_cast<large*>(~hidden);
}

TEST_P(LeakSearch, MemoryThatIsNotFromMallocCanBeReached) {
    void* at = ::mmap(nullptr, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(at, MAP_FAILED);
    auto* c = new (static_cast<char*>(at) + 70'000) chan<int>;
    rt().go([copy = *c] { copy.recv(); });
    expect_none(1);
    c->close();
    rt().drain();
    c->~chan();
    ::munmap(at, 1 << 20);
}

TEST_P(LeakSearch, AGreenThreadThatWaitsForATimerCanBeReached) {
    const chan<int> stop;
    rt().run([stop] {
        const chan<int> c;
        go([c] { c.recv(); });
        go([c, stop] {
            while (!stop.recv_for(10h)) {}
            c.close();
        });
    });
    expect_none(2);
    stop.send(1);
    rt().drain();
}

TEST_P(LeakSearch, AGreenThreadThatWaitsForADescriptorCanBeReached) {
    int ends[2];
    ASSERT_EQ(::pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
    rt().run([&ends] {
        const chan<int> c;
        go([c] { c.recv(); });
        go([c, fd = ends[0]] {
            wait_fd(fd, fd_events::readable);
            c.close();
        });
    });
    expect_none(2);
    ASSERT_EQ(::write(ends[1], "x", 1), 1);
    rt().drain();
    ::close(ends[0]);
    ::close(ends[1]);
}

TEST_P(LeakSearch, TheClosureOfATimerCanBeReached) {
    std::unique_ptr<timer> t;
    rt().run([&t] {
        const chan<int> c;
        go([c] { c.recv(); });
        t = std::make_unique<timer>(after_func(10h, [c] { c.close(); }));
    });
    expect_none(1);
    t->reset(1ns);
    rt().drain();
}

TEST_P(LeakSearch, AChannelInsideAChannelCanBeReached) {
    const chan<chan<int>> of_channels(8);
    rt().run([of_channels] {
        const chan<int> c;
        of_channels.send(c);
        go([c] { c.recv(); });
    });
    expect_none(1);
    of_channels.recv()->close();
    rt().drain();
}

TEST_P(LeakSearch, AScopeThatMayBeCancelledCanBeReached) {
    const chan<int> stop;
    rt().go([stop] {
        scope([&stop](task_scope& s) {
            s.go([] { chan<int>().recv(); });
            stop.recv();
            s.cancel();
        });
    });
    expect_none(2);
    stop.close();
    rt().drain();
}

TEST_P(LeakSearch, AStopSourceCanBeReached) {
    std::stop_source source;
    rt().go([token = source.get_token()] {
        try {
            with_stop_token(token, [] { chan<int>().recv(); });
        } catch (const cancelled&) {}
    });
    expect_none(1);
    source.request_stop();
    rt().drain();
}

TEST_P(LeakSearch, AnotherRuntimeCanBeReached) {
    runtime other({.procs = 1});
    const chan<int> stop;
    other.run([&] {
        const chan<int> c;
        rt().go([c] { c.recv(); });
        go([c, stop] {
            while (!stop.recv_for(10h)) {}
            c.close();
        });
    });
    await_waiting(rt(), 1);
    EXPECT_EQ(observe::leaks(rt()).count(), 0U);
    EXPECT_EQ(observe::leaks(other).count(), 0U);
    stop.send(1);
    rt().drain();
    other.drain();
}

// A large closure lies on the heap, a small one in the G, which is itself no root.
TEST_P(LeakSearch, TheClosureOfOneThatHasNotStartedCanBeReached) {
    std::atomic<bool> begun{false};
    std::atomic<bool> end{false};
    const unsigned n = procs();
    if (n > 2) GTEST_SKIP() << "each processor has to compute";
    rt().run([&] {
        const chan<int> small;
        const chan<int> large;
        go([small] { small.recv(); });
        go([large] { large.recv(); });
        while (stats().waiting < 2) yield();
        for (unsigned i = 1; i < n; ++i) {
            go([&] {
                begun = true;
                while (!end) {}
            });
        }
        while (n > 1 && !begun) yield();
        go([small] { small.close(); });
        std::array<char, 200> bytes{};
        go([large, bytes] {
            (void)bytes;
            large.close();
        });
        // The caller computes, too, because it must not give up its P.
        std::thread t([&] {
            const leak_report r = observe::leaks(rt());
            EXPECT_EQ(r.not_searched(), "");
            EXPECT_EQ(found(r), 0U) << r.text();
            end = true;
        });
        while (!end) {}
        t.join();
    });
    rt().drain();
}

// ---- Many.

// A tenth of the green threads that wait will never be woken. In a process of its own, because
// threads that have ended leave values on stacks that later threads get.
[[noreturn]] void find_nine_of_ten(unsigned procs) {
    constexpr unsigned wanted = 1000;
    leak_on_purpose();
    std::mt19937 random(procs);
    runtime mine({.procs = procs});
    std::vector<chan<int>> kept;
    unsigned leaked = 0;
    mine.run([&] {
        while (leaked < wanted) {
            for (int i = 0; i < 9; ++i) {
                kept.emplace_back();
                go({.name = "kept"}, [c = kept.back()] { c.recv(); });
            }
            // Memory that is used and freed meanwhile, as in any program.
            std::vector<std::unique_ptr<std::string>> other(random() % 50);
            for (auto& s : other) s = std::make_unique<std::string>(random() % 300, 'x');
            const auto& shape = leaking_shapes[random() % std::size(leaking_shapes)];
            leaked += shape.start();
        }
    });
    await_waiting(mine, leaked + kept.size());
    const leak_report r = observe::leaks(mine);
    uint64_t right = 0;
    uint64_t wrong = 0;
    for (const observe::leak_group& g : r.groups()) (g.name == "lost" ? right : wrong) += g.count;
    std::printf("P=%u: %u leaked, %zu did not: %llu found, %llu wrong; pause %.1f ms, search %.0f ms %s\n", procs,
                leaked, kept.size(), static_cast<unsigned long long>(right), static_cast<unsigned long long>(wrong),
                static_cast<double>(r.figures().pause.count()) / 1e6,
                static_cast<double>(r.figures().search.count()) / 1e6, r.not_searched().c_str());
    std::fflush(stdout);
    ::_exit(wrong == 0 && right >= leaked * 9 / 10 ? 0 : 1);
}

class LeakSearchDeathTest : public ::testing::TestWithParam<unsigned> {
protected:
    void SetUp() override {
        if (built_with_sanitizer) GTEST_SKIP() << "a sanitizer has its own malloc";
        GTEST_FLAG_SET(death_test_style, "threadsafe");
    }
};

INSTANTIATE_TEST_SUITE_P(Procs, LeakSearchDeathTest, ::testing::Values(1U, 2U, 4U, 64U));

TEST_P(LeakSearchDeathTest, FindsNineOfTenAmongManyThatCanBeWoken) {
    EXPECT_EXIT(find_nine_of_ten(GetParam()), ::testing::ExitedWithCode(0), "");
}

// Blocks of many sizes, a GiB in all, or what a machine with little memory has room for.
[[noreturn]] void pause_for_each_gib() {
    constexpr std::size_t gib = std::size_t{1} << 30;
    const std::size_t free_bytes =
        static_cast<std::size_t>(::sysconf(_SC_AVPHYS_PAGES)) * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    const std::size_t wanted = std::min(gib, free_bytes / 4);
    runtime mine({.procs = 2});
    std::mt19937 random(1);
    std::vector<std::unique_ptr<std::string>> all;
    for (std::size_t size = 0; size < wanted;) {
        all.push_back(std::make_unique<std::string>(32 + random() % 8000, 'x'));
        size += all.back()->size();
    }
    // Other programs take the processor, too: the best of some scans, and its processor time.
    double best_ms = 1e9;
    double cpu_ms = 1e9;
    double search_ms = 0;
    uint64_t heap = 0;
    for (int i = 0; i < 5; ++i) {
        const leak_report r = observe::leaks(mine);
        if (!r.not_searched().empty()) ::_exit(2);
        const auto ms = [](std::chrono::nanoseconds d) { return static_cast<double>(d.count()) / 1e6; };
        const observe::leak_figures& f = r.figures();
        heap = f.heap_bytes;
        best_ms = std::min(best_ms, ms(f.pause));
        cpu_ms = std::min(cpu_ms, ms(f.pause - f.copy + f.copy_cpu));
        search_ms = ms(f.search);
    }
    const double gibs = static_cast<double>(heap) / static_cast<double>(gib);
    std::printf(
        "%.2f GiB on the heap: a pause of %.1f ms for each GiB, %.1f ms without what other programs took; "
        "the search took %.0f ms\n",
        gibs, best_ms / gibs, cpu_ms / gibs, search_ms);
    std::fflush(stdout);
    ::_exit(cpu_ms / gibs <= 50 ? 0 : 1);
}

TEST(LeakPauseDeathTest, IsAtMostFiftyMillisecondsForAGib) {
    if (built_with_sanitizer) GTEST_SKIP() << "a sanitizer has its own malloc";
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_EXIT(pause_for_each_gib(), ::testing::ExitedWithCode(0), "");
}

// ---- The rest.

TEST(LeakReport, HasAStackAPlaceAndATimeAndIsAProfile) {
    if (built_with_sanitizer) GTEST_SKIP() << "a sanitizer has its own malloc";
    leak_on_purpose();
    runtime mine({.procs = 2});
    mine.run([] {
        for (int i = 0; i < 3; ++i) receive();
        send();
    });
    await_waiting(mine, 4);
    const leak_report r = observe::leaks(mine);
    ASSERT_EQ(r.groups().size(), 2U) << r.text();
    EXPECT_EQ(r.groups()[0].count, 3U);
    EXPECT_EQ(r.groups()[0].ids.size(), 3U);
    EXPECT_EQ(r.groups()[0].state, "chan receive");
    EXPECT_NE(std::string(r.groups()[0].started.file_name()).find("leaks_test.cc"), std::string::npos);
    EXPECT_EQ(r.groups()[1].state, "chan send");
    EXPECT_GT(r.groups()[0].longest, 0ns);
    EXPECT_TRUE(r.figures().has_registers);
    EXPECT_EQ(r.figures().scans, 2U);
    const std::string text = r.text();
    EXPECT_NE(text.find("4 green threads leaked"), std::string::npos) << text;
    EXPECT_NE(text.find("3 green threads \"lost\" [chan receive"), std::string::npos) << text;
    EXPECT_NE(text.find("leaks_test.cc"), std::string::npos) << text;
    EXPECT_NE(r.to_profile().bytes().find("goroutineleak"), std::string_view::npos);
    mine.abandon();
}

TEST(LeakReport, IsMadeByAGreenThreadToo) {
    if (built_with_sanitizer) GTEST_SKIP() << "a sanitizer has its own malloc";
    leak_on_purpose();
    runtime mine({.procs = 2});
    const leak_report r = mine.run([] {
        receive();
        while (stats().waiting < 1) yield();
        return observe::leaks();
    });
    EXPECT_EQ(r.count(), 1U) << r.text();
    mine.abandon();
}

// Without registers the search takes the whole stack of a thread for memory in use, because it does
// not know where the stack pointer is. What calls that have returned left there can keep some leaks
// reachable, for as long as the thread does not overwrite it: a part of them is missed.
TEST(LeakReport, FindsLeaksWithoutRegistersToo) {
    if (built_with_sanitizer) GTEST_SKIP() << "a sanitizer has its own malloc";
    leak_on_purpose();
    runtime mine({.procs = 2});
    mine.run([] {
        for (int i = 0; i < 100; ++i) receive();
    });
    await_waiting(mine, 100);
    const leak_report r = observe::leaks(mine, {.stop_threads = false});
    EXPECT_FALSE(r.figures().has_registers);
    EXPECT_EQ(r.not_searched(), "");
    EXPECT_GE(r.count(), 90U) << r.text();
    EXPECT_LE(r.count(), 100U) << r.text();
    mine.abandon();
}

TEST(LeakReport, SaysThatTheTimeIsOver) {
    if (built_with_sanitizer) GTEST_SKIP() << "a sanitizer has its own malloc";
    runtime mine({.procs = 1});
    const leak_report r = observe::leaks(mine, {.time_limit = 0ns});
    EXPECT_NE(r.not_searched(), "");
    EXPECT_NE(r.text().find("raise leak_options::time_limit"), std::string::npos) << r.text();
}

TEST(LeakReport, SaysThatASanitizerHasItsOwnMalloc) {
    if (!built_with_sanitizer) GTEST_SKIP() << "built without one";
    runtime mine({.procs = 1});
    EXPECT_NE(observe::leaks(mine).not_searched().find("sanitizer"), std::string::npos);
}

TEST(LeakReport, RefusesAStoppedRuntime) {
    runtime mine({.procs = 1});
    mine.abandon();
    EXPECT_THROW((void)observe::leaks(mine), std::logic_error);
}

// Two mutexes that a global has: reachable, so only a cycle shows it. Others go on.
TEST(LeakReport, ShowsACycleWhileOthersGoOn) {
    ASSERT_EQ(::setenv("RUN_DEBUG", "lockowners=1", 1), 0);
    leak_on_purpose();
    static mutex& a = *new mutex;  // never destroyed, because they stay locked
    static mutex& b = *new mutex;
    runtime mine({.procs = 2});
    ::unsetenv("RUN_DEBUG");
    std::atomic<bool> end{false};
    mine.run([] {
        auto locked = std::make_shared<latch>(2);
        go({.name = "ab"}, [locked] {
            a.lock();
            locked->arrive_and_wait();
            b.lock();
        });
        go({.name = "ba"}, [locked] {
            b.lock();
            locked->arrive_and_wait();
            a.lock();
        });
        while (stats().waiting < 2) yield();
    });
    mine.go([&end] {
        while (!end) yield();
    });
    eventually([&] { return mine.stats().waiting == 2; });
    const leak_report r = observe::leaks(mine);
    EXPECT_EQ(r.count(), 0U) << r.text();
    ASSERT_EQ(r.cycles().size(), 1U);
    ASSERT_EQ(r.cycles()[0].links.size(), 2U);
    EXPECT_EQ(r.cycles()[0].links[0].state, "mutex lock");
    const std::string text = r.text();
    EXPECT_NE(text.find("a cycle of 2 green threads"), std::string::npos) << text;
    EXPECT_NE(text.find("\"ab\": mutex lock at 0x"), std::string::npos) << text;
    end = true;
    eventually([&] { return mine.stats().live == 2; });
    EXPECT_EQ(mine.abandon(), 2U);
}

TEST(LeakCheck, ReportsWhatATestLeavesBehind) {
    leak_on_purpose();
    runtime mine({.procs = 2});
    mine.run([] { receive(); });
    await_waiting(mine, 1);
    const observe::leak_check check(mine);
    EXPECT_EQ(check.left(0s).count(), 0U) << "it was there before";
    const chan<int> kept;
    mine.run([kept] { go({.name = "mine"}, [kept] { kept.recv(); }); });
    await_waiting(mine, 2);
    const leak_report left = check.left(0s);
    ASSERT_EQ(left.count(), 1U);
    EXPECT_EQ(left.groups()[0].name, "mine");
    EXPECT_NE(left.text().find("1 green thread left behind"), std::string::npos) << left.text();
    kept.close();
    EXPECT_EQ(check.left(10s).count(), 0U);
    mine.abandon();
}

TEST(LeakCheck, DoesNotCountTheCaller) {
    runtime mine({.procs = 2});
    EXPECT_EQ(mine.run([] {
        const observe::leak_check check;
        return check.left(0s).count();
    }),
              0U);
    mine.go([&] {
        const observe::leak_check check(mine);
        EXPECT_EQ(check.left(0s).count(), 0U);
    });
    mine.drain();
}

TEST(LeakCheck, TheMacroPassesIfNothingIsLeft) {
    runtime mine({.procs = 2});
    EXPECT_NO_LEAKED_GREEN_THREADS(mine);
    mine.go([] { yield(); });
}

TEST(LeakCheck, TheMacroFailsOtherwise) {
    leak_on_purpose();
    static runtime* mine = new runtime({.procs = 2});
    EXPECT_NONFATAL_FAILURE(
        {
            EXPECT_NO_LEAKED_GREEN_THREADS(*mine);
            mine->run([] { receive(); });
        },
        "green thread 2 \"lost\" [chan receive");
    mine->abandon();
    delete mine;
}

TEST(LeakWatch, ReportsAPlaceWithMoreAndMore) {
    leak_on_purpose();
    runtime mine({.procs = 2});
    std::vector<chan<int>> pool(200);
    mine.run([&] {
        for (const chan<int>& c : pool) go({.name = "pool"}, [c] { c.recv(); });
    });
    observe::leak_watch watch(mine, {.age = 1ns, .count_min = 20, .looks = 3});
    uint64_t started = 0;
    for (int look = 0; look < 4; ++look) {
        EXPECT_TRUE(watch.look().empty()) << look;
        mine.run([] {
            for (int i = 0; i < 10; ++i) receive();
        });
        started += 10;
        await_waiting(mine, pool.size() + started);
    }
    const std::vector<observe::leak_suspect> suspects = watch.look();
    ASSERT_EQ(suspects.size(), 1U);
    EXPECT_EQ(suspects[0].name, "lost");
    EXPECT_EQ(suspects[0].count, 40U);
    EXPECT_EQ(suspects[0].grew_by, 30U);
    EXPECT_TRUE(watch.look().empty()) << "it has not grown";
    mine.abandon();
}

TEST(LeakWatch, RefusesOptionsThatAreZero) {
    runtime mine({.procs = 1});
    EXPECT_THROW(observe::leak_watch(mine, {.age = 0s}), std::invalid_argument);
    EXPECT_THROW(observe::leak_watch(mine, {.count_min = 0}), std::invalid_argument);
    EXPECT_THROW(observe::leak_watch(mine, {.looks = 0}), std::invalid_argument);
}

}  // namespace
}  // namespace weft::test
