// injected_test.cc: a G that returns from a call without a processor, or that a plain thread wakes,
// soon gets a turn. It gets no more turns than others.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <weft/weft.h>

#include "support/environment.h"
#include "support/procs_test.h"

namespace weft::test {
namespace {

using namespace std::chrono_literals;

// Computes in pieces, and yields after each.
class piecework {
public:
    void run(std::chrono::microseconds piece) {
        while (!over_) {
            const auto end = std::chrono::steady_clock::now() + piece;
            while (std::chrono::steady_clock::now() < end) {}
            ++pieces_;
            yield();
        }
    }

    [[nodiscard]] int pieces() const { return pieces_; }

    void end() { over_ = true; }

private:
    std::atomic<int> pieces_{0};
    std::atomic<bool> over_{false};
};

class Injected : private calm, public procs_test {
protected:
    Injected() : procs_test(60s) {}
};

WEFT_SWEEP_OVER(Injected, 1U, 2U, 4U);

constexpr int tries = 21;
constexpr int few = 16;  // Pieces per processor; checks at every 61st schedule alone would need 30 to 60.

// The median: the system may keep one thread off its CPU for many pieces.
int median(std::vector<int> all) {
    std::sort(all.begin(), all.end());
    return all.at(all.size() / 2);
}

TEST_P(Injected, AReturnFromABlockingCallIsScheduledSoon) {
    std::vector<int> waited;
    rt().run([&] {
        piecework work;
        wait_group all;
        for (unsigned i = 0; i < procs(); ++i) all.go([&] { work.run(200us); });
        for (int i = 0; i < tries; ++i) {
            int before = 0;
            blocking(hand_off::at_once, [&] {
                const int begun = work.pieces();
                while (work.pieces() < begun + 2) std::this_thread::yield();
                before = work.pieces();
            });
            waited.push_back(work.pieces() - before);
        }
        work.end();
        all.wait();
    });
    EXPECT_LE(median(waited), few * static_cast<int>(procs()));
}

TEST_P(Injected, AWakeUpByAPlainThreadIsScheduledSoon) {
    std::vector<int> waited;
    rt().run([&] {
        piecework work;
        wait_group all;
        chan<int> ticks;
        for (unsigned i = 0; i < procs(); ++i) all.go([&] { work.run(200us); });
        std::thread outside([&] {
            for (int i = 0; i < tries; ++i) {
                const int begun = work.pieces();
                while (work.pieces() < begun + 70) std::this_thread::yield();
                ticks.send(work.pieces());
            }
            ticks.close();
        });
        for (const int before : ticks) waited.push_back(work.pieces() - before);
        work.end();
        all.wait();
        outside.join();
    });
    EXPECT_LE(median(waited), few * static_cast<int>(procs()));
}

// One processor only: with more, the machine decides how they are shared. No retakes either: a
// thread that the system keeps off its CPU would lose its processor, and then run beside the next
// thread.
class InjectedOnOneProcessor : private calm, private no_retakes, public procs_test {
protected:
    InjectedOnOneProcessor() : procs_test(60s) {}
};

WEFT_SWEEP_OVER(InjectedOnOneProcessor, 1U);

// Two Gs that are repeatedly woken from outside take turns with those that yield.
TEST_P(InjectedOnOneProcessor, InjectedGsLeaveOthersHalfOfTheTime) {
    std::atomic<int> woken{0};
    int pieces = 0;
    rt().run([&] {
        piecework work;
        wait_group all;
        chan<int> ticks(2);
        const uint64_t before = stats().parks;
        all.go([&] { work.run(100us); });
        for (int i = 0; i < 2; ++i) {
            all.go([&] {
                for ([[maybe_unused]] const int tick : ticks) {
                    const auto end = std::chrono::steady_clock::now() + 100us;
                    while (std::chrono::steady_clock::now() < end) {}
                    ++woken;
                }
            });
        }
        // Sends only when one of them has parked. A G that computes would take the value without
        // having waited.
        std::thread outside([&] {
            for (int i = 0; i < 300; ++i) {
                while (rt().stats().parks < before + static_cast<uint64_t>(i) + 1) std::this_thread::yield();
                ticks.send(i);
            }
            ticks.close();
        });
        while (woken < 300) yield();
        pieces = work.pieces();
        work.end();
        all.wait();
        outside.join();
    });
    EXPECT_GE(pieces, 75);
}

}  // namespace
}  // namespace weft::test
