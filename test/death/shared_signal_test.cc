// shared_signal_test.cc: preemption and asking a thread for its location share one signal, with
// either handler in front.
//
// Handlers are installed once, so each order has its own process.

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <thread>

#include <weft/weft.h>

#include "death/death.h"
#include "os/os.h"
#include "os/signals.h"
#include "support/asking.h"

namespace weft::test {
namespace {

using namespace std::chrono_literals;
namespace os = weft::detail::os;

constexpr unsigned enough = 50;
constexpr auto too_long = 30s;

std::atomic<bool> over{false};
std::atomic<int> tid{0};
std::atomic<uint64_t> interrupted{0};

// Asks the thread of the marked code for its location until that thread has answered and been
// interrupted often enough. Returns the exit status.
int ask_until_enough() {
    std::atomic<unsigned> answers{0};
    const auto ends = std::chrono::steady_clock::now() + too_long;
    while ((answers < enough || interrupted < enough) && std::chrono::steady_clock::now() < ends) {
        if (tid == 0) continue;
        const auto count = [](void* all, const os::fault&) noexcept { ++*static_cast<std::atomic<unsigned>*>(all); };
        static_cast<void>(os::ask_thread(tid, count, &answers));  // the result is in answers
    }
    over = true;
    return (answers < enough ? 1 : 0) + (interrupted < enough ? 2 : 0);
}

void compute_in_marked_code() {
    while (!over) {
        tid = os::current_tid();
        {
            const preemptible here;
            for (int i = 0; i < 100'000 && !over.load(std::memory_order_relaxed); ++i) {}
        }
        interrupted = times_interrupted();
        yield();  // it may have lost its processor, and is not interrupted without one
    }
}

// Returns what ask_until_enough() does.
int do_both() {
    const asking monitor(1ms);
    int failed = 0;
    std::thread asker;
    wait_group all;
    all.go(&compute_in_marked_code);
    all.go([] {
        while (!over) yield();
    });
    asker = std::thread([&failed] { failed = ask_until_enough(); });
    all.wait();
    asker.join();
    return failed;
}

class SharedSignal : public DeathTest {
protected:
    void SetUp() override {
        if (!os::can_ask) GTEST_SKIP() << "signals come later with ThreadSanitizer";
    }
};

TEST_F(SharedSignal, BothUsesWorkWithPreemptionInFront) {
    EXPECT_EXIT(
        {
            os::enable_questions();
            std::_Exit(weft::main({.procs = 1}, [] { return do_both(); }));
        },
        ::testing::ExitedWithCode(0), "");
}

TEST_F(SharedSignal, BothUsesWorkWithQuestionsInFront) {
    EXPECT_EXIT(std::_Exit(weft::main({.procs = 1},
                                      [] {
                                          { const preemptible installs; }
                                          os::enable_questions();
                                          os::take_questions(true);
                                          return do_both();
                                      })),
                ::testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace weft::test
