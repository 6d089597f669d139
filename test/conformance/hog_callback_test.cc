// hog_callback_test.cc: the library calls user code that does not return for a long time. No other
// thread waits for that.

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <utility>

#include <gtest/gtest.h>

#include <weft/weft.h>

#include "support/bystanders.h"
#include "support/eventually.h"
#include "support/procs_test.h"

namespace weft::test {
namespace {

class HogCallback : public procs_test {
public:
    // User code stays here until the others have made progress.
    void hold_on() {
        ++holding_on_;
        while (!over_) {}
    }

protected:
    HogCallback() : procs_test(std::chrono::seconds(30)) {}

    // One G for each P calls f, which reaches hold_on() and stays there. The others do not wait for
    // that.
    template <typename F>
    void others_go_on_beside(F f) {
        for (unsigned i = 0; i < procs(); ++i) {
            rt().go({.name = "hog"}, [this, f] {
                f();
                ++finished_;
            });
        }
        eventually([&] { return holding_on_ == procs(); });
        bystanders others(rt());
        EXPECT_TRUE(others.go_on());
        EXPECT_EQ(finished_, 0U);
        over_ = true;
        rt().drain();
        EXPECT_EQ(finished_, procs());
    }

    class value {
    public:
        value() = default;

        explicit value(HogCallback* armed) : armed_(armed) {}

        value(value&& other) noexcept {
            if (HogCallback* test = std::exchange(other.armed_, nullptr)) test->hold_on();
        }

        value& operator=(value&& other) noexcept {
            if (HogCallback* test = std::exchange(other.armed_, nullptr)) test->hold_on();
            return *this;
        }

    private:
        HogCallback* armed_ = nullptr;
    };

    std::atomic<bool> over_ = false;
    std::atomic<unsigned> holding_on_ = 0;
    std::atomic<unsigned> finished_ = 0;
};

WEFT_SWEEP_OVER(HogCallback, 1U, 2U, 4U);

// ---- Values in transit.

TEST_P(HogCallback, AMoveIntoABufferDelaysNoOther) {
    others_go_on_beside([this] {
        const chan<value> c(2);
        c.send(value(this));
        EXPECT_TRUE(c.recv());
    });
}

TEST_P(HogCallback, AMoveToAWaitingReceiverDelaysNoOther) {
    others_go_on_beside([this] {
        const chan<value> c;
        wait_group receiver;
        receiver.go([c] { EXPECT_TRUE(c.recv()); });
        weft::yield();
        c.send(value(this));
        receiver.wait();
    });
}

TEST_P(HogCallback, AMoveFromAWaitingSenderDelaysNoOther) {
    others_go_on_beside([this] {
        const chan<value> c;
        wait_group sender;
        sender.go([this, c] {
            value v(this);
            c.send(std::move(v));
        });
        weft::yield();
        EXPECT_TRUE(c.recv());
        sender.wait();
    });
}

TEST_P(HogCallback, AMoveBySelectDelaysNoOther) {
    others_go_on_beside([this] {
        const chan<value> c(1);
        const chan<value> other;
        value v(this);
        weft::select(on_send(c, std::move(v), [] {}), on_recv(other, [](std::optional<value>) {}));
        weft::select(on_recv(other, [](std::optional<value>) {}), on_recv(c, [](std::optional<value>) {}));
    });
}

TEST_P(HogCallback, DestroyingABufferedElementDelaysNoOther) {
    others_go_on_beside([this] {
        struct last_words {
            ~last_words() {
                if (test != nullptr) test->hold_on();
            }

            HogCallback* test;
        };

        const chan<std::unique_ptr<last_words>> c(1);
        c.send(std::unique_ptr<last_words>(new last_words{this}));
    });
}

TEST_P(HogCallback, AMoveOfAResultDelaysNoOther) {
    others_go_on_beside([this] {
        auto f = async([this] { return value(this); });
        static_cast<void>(f.get());
        promise<value> p;
        auto g = p.get_future();
        p.set_value(value());
        static_cast<void>(g.get());
    });
}

TEST_P(HogCallback, MovingAndDestroyingAClosureDelaysNoOther) {
    others_go_on_beside([this] {
        wait_group child;
        child.go([v = value(this)] { static_cast<void>(v); });
        child.wait();
    });
}

// ---- Functions.

TEST_P(HogCallback, AFunctionOfCallOnceDelaysNoOther) {
    others_go_on_beside([this] {
        once_flag flag;
        wait_group second;
        second.go([&] { call_once(flag, [&] { hold_on(); }); });
        call_once(flag, [&] { hold_on(); });
        second.wait();
    });
}

TEST_P(HogCallback, AFunctionOfASingleFlightDelaysNoOther) {
    single_flight<int, int> flight;
    others_go_on_beside([this, &flight] {
        EXPECT_EQ(flight.do_(static_cast<int>(this_g::id()),
                             [&] {
                                 hold_on();
                                 return 5;
                             }),
                  5);
    });
}

TEST_P(HogCallback, ACompletionOfABarrierDelaysNoOther) {
    others_go_on_beside([this] {
        const auto complete = [this]() noexcept { hold_on(); };
        barrier b(2, complete);
        wait_group second;
        second.go([&] { b.arrive_and_wait(); });
        b.arrive_and_wait();
        second.wait();
    });
}

TEST_P(HogCallback, APredicateOfAConditionDelaysNoOther) {
    others_go_on_beside([this] {
        mutex m;
        condition_variable changed;
        bool asked = false;
        std::unique_lock hold(m);
        changed.wait(hold, [&] {
            if (!std::exchange(asked, true)) hold_on();
            return true;
        });
    });
}

TEST_P(HogCallback, InitializingAndDestroyingALocalDelaysNoOther) {
    static HogCallback* test = nullptr;
    test = this;

    struct first_words {
        first_words() { test->hold_on(); }

        ~first_words() { compute_for(std::chrono::milliseconds(15)); }
    };

    const local<first_words> words([] { return first_words(); });
    others_go_on_beside([&words] { static_cast<void>(*words); });
}

TEST_P(HogCallback, AFunctionOfAfterFuncOrThenDelaysNoOther) {
    others_go_on_beside([this] {
        wait_group called;
        called.add();
        const timer t = after_func(std::chrono::microseconds(1), [&] {
            hold_on();
            called.done();
        });
        called.wait();
        EXPECT_EQ(async([] { return 1; })
                      .then([](int v) {
                          compute_for(std::chrono::milliseconds(15));
                          return v + 1;
                      })
                      .get(),
                  2);
    });
}

TEST_P(HogCallback, ADestructorDuringUnwindingDelaysNoOther) {
    others_go_on_beside([this] {
        struct guard {
            ~guard() { test->hold_on(); }

            HogCallback* test;
        };

        try {
            const guard g{this};
            throw std::runtime_error("unwinds");
        } catch (const std::runtime_error&) {}
    });
}

task<int> hog_in_a_coroutine(HogCallback* test) {
    const chan<int> c(1);
    co_await co::send(c, 3);
    test->hold_on();
    co_return *co_await co::recv(c);
}

TEST_P(HogCallback, ACoroutineDelaysNoOther) {
    others_go_on_beside([this] { EXPECT_EQ(async(hog_in_a_coroutine(this)).get(), 3); });
}

}  // namespace
}  // namespace weft::test
