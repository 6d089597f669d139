// hog_test.cc: green threads, one for each P, keep their OS threads busy or asleep in every way.
// The others make progress.

#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <new>
#include <thread>

#include <gtest/gtest.h>

#include <weft/net/udp.h>
#include <weft/weft.h>

#include "os/sockets.h"
#include "support/build.h"
#include "support/bystanders.h"
#include "support/eventually.h"
#include "support/procs_test.h"

namespace weft::test {
namespace {

class Hog : public procs_test {
protected:
    Hog() : procs_test(std::chrono::seconds(30)) {}

    // One hog for each P, which runs until it is released. The others do not wait for that.
    template <typename F>
    void others_go_on_beside(F hog) {
        start(hog);
        bystanders others(rt());
        EXPECT_TRUE(others.go_on());
        EXPECT_EQ(finished_, 0U) << "hogs that were none";
        finish();
    }

    template <typename F>
    void start(F hog) {
        for (unsigned i = 0; i < procs(); ++i) {
            rt().go({.name = "hog"}, [this, hog] {
                ++began_;
                hog(*leash_);
                ++finished_;
            });
        }
        eventually([&] { return began_ == procs(); });
    }

    void finish() {
        leash_->let_go();
        rt().drain();
        EXPECT_EQ(finished_, procs());
    }

    // The fixture counts file descriptors, so the leash goes first.
    void TearDown() override {
        leash_.reset();
        procs_test::TearDown();
    }

    std::unique_ptr<leash> leash_ = std::make_unique<leash>();
    std::atomic<unsigned> began_ = 0;
    std::atomic<unsigned> finished_ = 0;
};

WEFT_SWEEP_OVER(Hog, 1U, 2U, 4U);

TEST_P(Hog, AnEmptyLoopDelaysNoOther) {
    others_go_on_beside([](const leash& l) {
        while (l.holds()) {}
    });
}

// A leaf: no frame, no memory access but one word, no calls.
WEFT_TEST_OPAQUE long leaf(const leash& l) {
    long n = 0;
    while (l.holds()) ++n;
    return n;
}

TEST_P(Hog, ALeafFunctionDelaysNoOther) {
    others_go_on_beside([](const leash& l) { EXPECT_GT(leaf(l), 0); });
}

TEST_P(Hog, ALoopOfMallocAndFreeDelaysNoOther) {
    others_go_on_beside([](const leash& l) {
        for (std::size_t size = 1; l.holds(); size = size % 5000 + 1) {
            void* block = std::malloc(size);
            asm volatile("" : : "r"(block) : "memory");
            std::free(block);
        }
    });
}

TEST_P(Hog, AComparatorInsideQsortDelaysNoOther) {
    static const leash* held = nullptr;
    held = leash_.get();
    others_go_on_beside([](const leash&) {
        std::array<int, 64> numbers{};
        for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<int>(i * 37 % 64);
        std::qsort(numbers.data(), numbers.size(), sizeof(int), [](const void* a, const void* b) {
            while (held->holds()) {}
            return *static_cast<const int*>(a) - *static_cast<const int*>(b);
        });
        for (std::size_t i = 0; i < numbers.size(); ++i) EXPECT_EQ(numbers[i], static_cast<int>(i));
    });
}

// Only threads that want the lock are blocked, green or not.
TEST_P(Hog, AHolderOfAStdMutexDelaysOnlyItsContenders) {
    constexpr unsigned contenders = 4;
    std::mutex wanted;
    std::atomic<bool> held = false;
    long inside = 0;  // guarded by wanted
    start([&](const leash& l) {
        const std::lock_guard hold(wanted);
        held = true;
        while (l.holds()) {}
        ++inside;
    });
    eventually([&] { return held.load(); });
    std::atomic<unsigned> asking = 0;
    const auto ask = [&] {
        ++asking;
        const std::lock_guard hold(wanted);
        ++inside;
    };
    for (unsigned i = 0; i < contenders; ++i) rt().go(ask);
    std::thread plain(ask);
    eventually([&] { return asking == contenders + 1; });
    bystanders others(rt());
    EXPECT_TRUE(others.go_on());
    finish();
    plain.join();
    EXPECT_EQ(inside, procs() + contenders + 1);
}

TEST_P(Hog, SleepOfTheCLibraryDelaysNoOther) {
    others_go_on_beside([](const leash& l) {
        while (l.holds()) ::sleep(1);
    });
}

TEST_P(Hog, PollDelaysNoOther) {
    others_go_on_beside([](const leash& l) { l.await(); });
}

TEST_P(Hog, TheResolverDelaysNoOther) {
    const net::udp_socket first(net::endpoint::loopback(0));  // on Windows it makes the resolver usable
    std::atomic<long> failed = 0;
    others_go_on_beside([&](const leash& l) {
        addrinfo hints{};
        hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
        hints.ai_socktype = SOCK_STREAM;
        while (l.holds()) {
            addrinfo* found = nullptr;
            failed += ::getaddrinfo("127.0.0.1", "80", &hints, &found) != 0;
            if (found != nullptr) ::freeaddrinfo(found);
        }
    });
    EXPECT_EQ(failed, 0);
}

// A hog takes one thread to compute on, and one in its place.
TEST_P(Hog, AHogCostsExactlyOneThread) {
    others_go_on_beside([](const leash& l) {
        while (l.holds()) {}
    });
    EXPECT_LE(rt().stats().threads, 3 * procs() + 2);
}

TEST_P(Hog, HogsOfHighPriorityDelayNoOther) {
    std::atomic<bool> over = false;
    std::atomic<unsigned> began = 0;
    for (unsigned i = 0; i < procs(); ++i) {
        rt().go({.priority = priority::high}, [&] {
            ++began;
            while (!over) {}
        });
    }
    eventually([&] { return began == procs(); });
    std::atomic<bool> low_ran = false;
    rt().go({.priority = priority::low}, [&] { low_ran = true; });
    bystanders others(rt());
    EXPECT_TRUE(others.go_on());
    eventually([&] { return low_ran.load(); });
    over = true;
    rt().drain();
}

// New hogs come and go all the time, as in real programs.
TEST_P(Hog, HogsThatComeAndGoDelayNoOther) {
    std::atomic<bool> over = false;
    std::atomic<long> came = 0;
    for (unsigned i = 0; i < procs() + 1; ++i) {
        rt().go([&] {
            while (!over) {
                wait_group next;
                next.go([&] {
                    ++came;
                    compute_for(std::chrono::milliseconds(30));
                });
                next.wait();
            }
        });
    }
    bystanders others(rt());
    EXPECT_TRUE(others.go_on());
    over = true;
    rt().drain();
    EXPECT_GT(came, 0);
}

}  // namespace
}  // namespace weft::test
