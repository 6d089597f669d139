// idle_test.cc: a process at rest does not wake up. docs/idle.md lists what may wake one.
//
// At rest: all green threads wait, and no timer is set. There was work some seconds before, so
// first the memory of stacks goes back step by step, and surplus threads end. Then no thread of
// ours may run, not even once, for a second or WEFT_STRESS_SECONDS.
#include <sys/socket.h>
#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <weft/net/unix.h>
#include <weft/weft.h>

#include "support/build.h"
#include "support/environment.h"
#include "support/eventually.h"
#include "support/scale.h"

namespace weft::test {
namespace {

using namespace std::chrono_literals;

std::set<std::string> threads_now() {
    std::set<std::string> all;
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task")) all.insert(entry.path().string());
    return all;
}

// How often a thread has been switched out; each wake-up adds one. 0 for a thread that has ended.
uint64_t switches_of(const std::string& thread) {
    std::ifstream status(thread + "/status");
    uint64_t sum = 0;
    for (std::string line; std::getline(status, line);) {
        if (line.find("voluntary_ctxt_switches:") != std::string::npos)
            sum += std::stoull(line.substr(line.find(':') + 1));
    }
    return sum;
}

// The threads created after this object, except those of a sanitizer or of the test.
class new_threads {
public:
    [[nodiscard]] std::size_t count() const { return ours().size(); }

    [[nodiscard]] uint64_t switches() const {
        uint64_t sum = 0;
        for (const std::string& thread : ours()) sum += switches_of(thread);
        return sum;
    }

    // How often they wake up within that time.
    [[nodiscard]] uint64_t wakes_during(std::chrono::milliseconds time) const {
        const uint64_t before = switches();
        std::this_thread::sleep_for(time);
        return switches() - before;
    }

private:
    [[nodiscard]] std::vector<std::string> ours() const {
        std::vector<std::string> all;
        for (const std::string& thread : threads_now()) {
            if (!before_.contains(thread)) all.push_back(thread);
        }
        return all;
    }

    std::set<std::string> before_ = threads_now();
};

std::chrono::milliseconds watched_for() {
    return std::chrono::seconds(number_from_environment("WEFT_STRESS_SECONDS", 1));
}

// Longer than memory_idle, which separates two rounds that give memory back. If this passes without
// a round, the last one is over.
constexpr auto longer_than_a_period = 2600ms;

void expect_rest(const new_threads& threads) {
    eventually([&] { return threads.wakes_during(longer_than_a_period) == 0; });
    EXPECT_EQ(threads.wakes_during(watched_for()), 0U);
}

// Some work for all, deep stacks, sleeps; then many green threads wait.
void begin(runtime& rt, const chan<int>& never) {
    rt.run([] {
        wait_group all;
        for (int i = 0; i < 100; ++i) {
            all.go([] {
                sleep_for(1ms);
                yield();
            });
        }
        all.wait();
    });
    for (int i = 0; i < 10; ++i) rt.go([=] { never.recv(); });
}

// Calm: in a storm the monitor never rests. The first thread of all may start one of a sanitizer,
// which is not ours.
class Idle : private calm, public ::testing::Test {
protected:
    void SetUp() override {
        if (built_with_tsan) GTEST_SKIP() << "with ThreadSanitizer sleeping threads look for signals now and then";
        std::thread([] {}).join();
    }

private:
    // Surplus threads, from retakes on a busy machine, end before the process is watched.
    environment_variable ends_soon_{"RUN_THREAD_IDLE", "50"};
};

TEST_F(Idle, AnIdleProcessDoesNotWakeUp) {
    const new_threads threads;
    const chan<int> never;
    std::vector<std::unique_ptr<runtime>> all;
    for (const unsigned procs : {1U, 2U, 4U}) {
        all.push_back(std::make_unique<runtime>(runtime_options{.procs = procs}));
        begin(*all.back(), never);
    }
    EXPECT_GE(threads.count(), all.size());
    expect_rest(threads);
    // The runtimes are still alive.
    never.close();
    for (const auto& rt : all) rt->drain();
}

// The monitor wakes up to search for a deadlock, unless that is disabled.
TEST_F(Idle, AnIdleMainDoesNotWakeUp) {
    const environment_variable no_checks("RUN_DEBUG", "deadlock=0");
    const chan<int> begun;
    const chan<int> never;
    const new_threads threads;
    // The main thread is among those watched.
    std::thread of_main([=] {
        weft::main({.procs = 2}, [=] {
            for (int i = 0; i < 10; ++i) go([=] { never.recv(); });
            begun.close();
            never.recv();
        });
    });
    begun.recv();
    expect_rest(threads);
    never.close();
    of_main.join();
}

// The search for a deadlock, after 10 ms, must not delay the next request.
TEST_F(Idle, AServerAnswersAtOnceAfterAPause) {
    int ends[2];
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    std::thread of_main([server = ends[0]] {
        weft::main({.procs = 1}, [server] {
            net::unix_stream connection = net::unix_stream::adopt(server);
            char byte[1];
            while (connection.read_some(byte) != 0) connection.write_all(byte);
        });
    });
    const auto answer_after_pause = [client = ends[1]] {
        std::this_thread::sleep_for(12ms);
        const auto asked = std::chrono::steady_clock::now();
        char byte = 'x';
        EXPECT_EQ(::write(client, &byte, 1), 1);
        EXPECT_EQ(::read(client, &byte, 1), 1);
        return std::chrono::steady_clock::now() - asked;
    };
    // On a busy machine some answers take longer, but hardly most of them five times in a row.
    bool at_once = false;
    for (int i = 0; i < 5 && !at_once; ++i) {
        std::array<std::chrono::nanoseconds, 21> took;
        std::generate(took.begin(), took.end(), answer_after_pause);
        std::nth_element(took.begin(), took.begin() + took.size() / 2, took.end());
        at_once = took[took.size() / 2] < 2ms;
    }
    EXPECT_TRUE(at_once);
    ::close(ends[1]);
    of_main.join();
}

// The watch does notice a wake-up.
TEST_F(Idle, TheTestDetectsAWakeUp) {
    const new_threads threads;
    const chan<int> never;
    runtime rt({.procs = 1});
    begin(rt, never);
    rt.go([=] {
        while (never.recv_for(20ms).status == chan_status::timed_out) {}
    });
    EXPECT_GE(threads.wakes_during(500ms), 5U);
    never.close();
    rt.drain();
}

}  // namespace
}  // namespace weft::test
