// notify_test.cc: signals of the system, received from channels.

#include <signal.h>  // NOLINT(modernize-deprecated-headers): POSIX's
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <weft/process.h>
#include <weft/signals.h>
#include <weft/weft.h>

#include "support/build.h"
#include "support/eventually.h"
#include "support/procs_test.h"
#include "support/resources.h"
#include "support/scale.h"

namespace weft::test {
namespace {

using namespace std::chrono_literals;
using signals::subscription;

// A thread that accepts signals while all others block them. ThreadSanitizer calls a handler when
// its thread calls an intercepted function.
class listener {
public:
    listener() {
        thread_ = std::thread([this] {
            sigset_t none;
            sigemptyset(&none);
            ::pthread_sigmask(SIG_SETMASK, &none, nullptr);  // the creator may be an M, and those block all signals
            while (!over_) ::usleep(200);
        });
    }

    ~listener() {
        over_ = true;
        thread_.join();
    }

    listener(const listener&) = delete;
    listener& operator=(const listener&) = delete;

    void send(int signal) { ::pthread_kill(thread_.native_handle(), signal); }

private:
    std::atomic<bool> over_ = false;
    std::thread thread_;
};

// SIGVTALRM and SIGALRM, because runtimes of other tests in this process use SIGUSR1 and SIGUSR2
// themselves.
class Notify : public procs_test {
protected:
    // The poller of plain threads and the descriptor of signals stay, once they exist.
    static void SetUpTestSuite() {
        const subscription s = signals::notify({SIGVTALRM});
        ::raise(SIGVTALRM);
        EXPECT_EQ(s.recv(), SIGVTALRM);
    }

    void send(int signal) {
        if (built_with_tsan) {
            if (listener_ == nullptr) listener_ = std::make_unique<listener>();
            listener_->send(signal);
        } else {
            ::kill(::getpid(), signal);
        }
    }

    static struct sigaction action_of(int signal) {
        struct sigaction found{};
        ::sigaction(signal, nullptr, &found);
        return found;
    }

    std::unique_ptr<listener> listener_;
};

WEFT_SWEEP_OVER(Notify, 1U, 2U, 4U, 64U);

TEST_P(Notify, AGreenThreadReceivesSignals) {
    rt().run([&] {
        const subscription s = signals::notify({SIGVTALRM, SIGALRM});
        for (int i = 0; i < scaled(50); ++i) {
            const int sent = i % 3 == 0 ? SIGALRM : SIGVTALRM;
            send(sent);
            EXPECT_EQ(s.recv(), sent);
        }
        EXPECT_EQ(s.try_recv().status, chan_status::would_block);
        EXPECT_EQ(s.recv_for(1ms).status, chan_status::timed_out);
    });
}

// All threads sleep when the signal comes. No thread polls that need not.
TEST_P(Notify, WakesAnIdleRuntime) {
    std::atomic<int> got = 0;
    const subscription s = rt().run([] { return signals::notify({SIGVTALRM}); });
    park(1, [&] { rt().go([&] { got = s.recv().value_or(-1); }); });
    std::this_thread::sleep_for(5ms);
    send(SIGVTALRM);
    rt().drain();
    EXPECT_EQ(got, SIGVTALRM);
}

// No G passes through the scheduler by itself.
TEST_P(Notify, DeliversWhileAllPsCompute) {
    const subscription s = rt().run([] { return signals::notify({SIGVTALRM}); });
    std::atomic<int> got = 0;
    std::atomic<bool> over = false;
    park(1, [&] { rt().go([&] { got = s.recv().value_or(-1); }); });
    for (unsigned i = 0; i < (procs() == 64 ? 4 : procs()); ++i) {
        rt().go([&] {
            while (!over) {}
        });
    }
    send(SIGVTALRM);
    eventually([&] { return got == SIGVTALRM; });
    over = true;
    rt().drain();
}

TEST_P(Notify, WorksAsACaseOfASelect) {
    rt().run([&] {
        const subscription s = signals::notify({SIGVTALRM});
        const chan<int> other;
        std::optional<int> got;
        const auto choose = [&] {
            return select(on_recv(s.channel(), [&](std::optional<int> signal) { got = signal; }),
                          on_recv(other, [](std::optional<int>) {}), on_timeout(10s, [] {}));
        };
        wait_group all;
        all.go([&] { send(SIGVTALRM); });
        EXPECT_EQ(choose(), 0U);
        EXPECT_EQ(got, SIGVTALRM);
        all.go([&] { other.send(1); });
        EXPECT_EQ(choose(), 1U);
        all.wait();
    });
}

TEST_P(Notify, EachSubscriptionGetsItsOwn) {
    rt().run([&] {
        const subscription one = signals::notify({SIGVTALRM});
        const subscription two = signals::notify({SIGALRM});
        const subscription both = signals::notify(std::array{SIGVTALRM, SIGALRM});
        send(SIGVTALRM);
        EXPECT_EQ(one.recv(), SIGVTALRM);
        EXPECT_EQ(both.recv(), SIGVTALRM);
        send(SIGALRM);
        EXPECT_EQ(two.recv(), SIGALRM);
        EXPECT_EQ(both.recv(), SIGALRM);
        EXPECT_FALSE(one.try_recv());
    });
}

TEST_P(Notify, AFullSubscriptionDropsSignals) {
    rt().run([&] {
        const subscription narrow = signals::notify({SIGVTALRM}, 1);
        const subscription wide = signals::notify({SIGVTALRM}, 100);
        for (int i = 0; i < 5; ++i) {
            send(SIGVTALRM);
            EXPECT_EQ(wide.recv(), SIGVTALRM);
        }
        // notify() subscribes only after every earlier signal was offered to the other subscribers.
        static_cast<void>(signals::notify({SIGALRM}));
        EXPECT_TRUE(narrow.try_recv());
        EXPECT_FALSE(narrow.try_recv());
        send(SIGVTALRM);
        EXPECT_EQ(narrow.recv(), SIGVTALRM) << "there is room again";
        EXPECT_EQ(wide.recv(), SIGVTALRM);
    });
}

// Several threads share what they receive.
TEST_P(Notify, PlainThreadsReceiveSignals) {
    const subscription s = signals::notify({SIGVTALRM});
    std::atomic<int> got = 0;
    std::thread plain([&] { got = s.recv().value_or(-1); });
    send(SIGVTALRM);
    plain.join();
    EXPECT_EQ(got, SIGVTALRM);
}

TEST_P(Notify, StoppingEndsWaits) {
    subscription s = rt().run([] { return signals::notify({SIGVTALRM}); });
    std::atomic<int> ended = 0;
    park(3, [&] {
        for (int i = 0; i < 3; ++i) {
            rt().go([&, c = s.channel()] {
                if (!c.recv()) ++ended;
            });
        }
    });
    s.stop();
    s.stop();
    rt().drain();
    EXPECT_EQ(ended, 3);
    const subscription none;
    EXPECT_FALSE(none.try_recv());
    subscription moved = signals::notify({SIGVTALRM});
    s = std::move(moved);
    send(SIGVTALRM);
    EXPECT_EQ(s.recv(), SIGVTALRM);
    s = subscription();
}

TEST_P(Notify, DeadlinesAndCancellationEndWaits) {
    rt().run([] {
        const subscription s = signals::notify({SIGVTALRM});
        EXPECT_THROW(with_timeout(1ms, [&] { static_cast<void>(s.recv()); }), timed_out);
    });
}

std::atomic<int> handled = 0;

void count_signal(int) { ++handled; }

// While it exists, a handler of the program counts SIGALRM. Our handler calls it after recording
// the signal, so a counted signal was recorded.
class counting_handler {
public:
    counting_handler() {
        struct sigaction mine{};
        mine.sa_handler = &count_signal;
        mine.sa_flags = SA_ONSTACK | SA_RESTART;
        ::sigaction(SIGALRM, &mine, &before_);
    }

    ~counting_handler() { ::sigaction(SIGALRM, &before_, nullptr); }

    counting_handler(const counting_handler&) = delete;
    counting_handler& operator=(const counting_handler&) = delete;

private:
    struct sigaction before_{};
};

// Returns when f has sent a SIGALRM that a handler has seen.
template <typename F>
void until_caught(F f) {
    const int before = handled;
    f();
    eventually([&] { return handled > before; });
}

TEST_P(Notify, StopDeliversSignalsCaughtBefore) {
    const counting_handler handler;
    for (int i = 0; i < 50; ++i) {
        subscription s = signals::notify({SIGALRM});
        const auto received = s.channel();
        until_caught([&] { send(SIGALRM); });
        s.stop();
        EXPECT_EQ(received.recv(), SIGALRM);
        EXPECT_EQ(received.recv(), std::nullopt);
    }
}

TEST_P(Notify, StoppingOneSubscriptionDeliversToBoth) {
    const counting_handler handler;
    const subscription stays = signals::notify({SIGALRM});
    for (int i = 0; i < 50; ++i) {
        subscription leaves = signals::notify({SIGALRM});
        const auto received = leaves.channel();
        until_caught([&] { send(SIGALRM); });
        leaves.stop();
        EXPECT_EQ(received.recv(), SIGALRM);
        EXPECT_EQ(stays.recv(), SIGALRM);
    }
}

TEST_P(Notify, IgnoreAndResetDeliverSignalsCaughtBefore) {
    const counting_handler handler;
    for (int i = 0; i < 50; ++i) {
        const subscription s = signals::notify({SIGALRM});
        until_caught([&] { send(SIGALRM); });
        if (i % 2 == 0) {
            signals::ignore({SIGALRM});
        } else {
            signals::reset({SIGALRM});
        }
        EXPECT_EQ(s.recv_for(10s).value, SIGALRM);
        signals::reset({SIGALRM});
    }
}

TEST_P(Notify, SignalsCaughtBeforeASubscriptionAreNotForIt) {
    const counting_handler handler;
    const subscription first = signals::notify({SIGALRM});
    for (int i = 0; i < 50; ++i) {
        until_caught([&] { send(SIGALRM); });
        const subscription later = signals::notify({SIGALRM});
        EXPECT_EQ(first.recv(), SIGALRM);
        EXPECT_EQ(later.recv_for(0s).status, chan_status::timed_out);
    }
}

TEST_P(Notify, PreviousHandlersAreCalledAndRestored) {
    struct sigaction mine{};
    struct sigaction before{};
    mine.sa_handler = &count_signal;
    ASSERT_EQ(::sigaction(SIGVTALRM, &mine, &before), 0);
    handled = 0;
    rt().run([&] {
        subscription one = signals::notify({SIGVTALRM});
        subscription two = signals::notify({SIGVTALRM});
        send(SIGVTALRM);
        EXPECT_EQ(one.recv(), SIGVTALRM);
        EXPECT_EQ(two.recv(), SIGVTALRM);
        eventually([] { return handled == 1; });
        one.stop();
        send(SIGVTALRM);
        EXPECT_EQ(two.recv(), SIGVTALRM);
        eventually([] { return handled == 2; });
    });
    EXPECT_EQ(action_of(SIGVTALRM).sa_handler, &count_signal);
    send(SIGVTALRM);
    eventually([] { return handled == 3; });
    ::sigaction(SIGVTALRM, &before, nullptr);
}

// A handler of other code, which calls the handler it has replaced, or does not.
struct sigaction replaced{};

void pass_on(int signal, siginfo_t* info, void* context) {
    ++handled;
    if ((replaced.sa_flags & SA_SIGINFO) != 0) replaced.sa_sigaction(signal, info, context);
}

TEST_P(Notify, AHandlerInstalledLaterMayChain) {
    handled = 0;
    rt().run([&] {
        subscription s = signals::notify({SIGALRM});
        struct sigaction mine{};
        mine.sa_sigaction = &pass_on;
        mine.sa_flags = SA_SIGINFO;
        ASSERT_EQ(::sigaction(SIGALRM, &mine, &replaced), 0);
        send(SIGALRM);
        EXPECT_EQ(s.recv(), SIGALRM);
        s.stop();
        EXPECT_EQ(action_of(SIGALRM).sa_sigaction, &pass_on) << "it is not ours to remove";
        subscription again = signals::notify({SIGALRM});
        send(SIGALRM);
        EXPECT_EQ(again.recv(), SIGALRM);
        eventually([] { return handled == 2; });
        signals::ignore({SIGALRM});
        EXPECT_TRUE(signals::is_ignored(SIGALRM));
        signals::reset({SIGALRM});
        EXPECT_EQ(action_of(SIGALRM).sa_sigaction, &pass_on);
        again = signals::notify({SIGALRM});
        send(SIGALRM);
        EXPECT_EQ(again.recv(), SIGALRM);
        eventually([] { return handled == 3; });
        ::sigaction(SIGALRM, &replaced, nullptr);  // ours is in front again
    });
    const struct sigaction after = action_of(SIGALRM);
    EXPECT_EQ((after.sa_flags & SA_SIGINFO) == 0 && after.sa_handler == SIG_DFL, true);
}

TEST_P(Notify, IgnoreAndResetChangeTheAction) {
    rt().run([&] {
        EXPECT_FALSE(signals::is_ignored(SIGVTALRM));
        const subscription s = signals::notify({SIGVTALRM, SIGALRM});
        signals::ignore({SIGVTALRM});
        EXPECT_TRUE(signals::is_ignored(SIGVTALRM));
        send(SIGVTALRM);
        send(SIGALRM);
        EXPECT_EQ(s.recv(), SIGALRM);
        EXPECT_FALSE(s.try_recv());
        {
            const subscription other = signals::notify({SIGVTALRM});
            EXPECT_FALSE(signals::is_ignored(SIGVTALRM));
            send(SIGVTALRM);
            EXPECT_EQ(other.recv(), SIGVTALRM);
            EXPECT_FALSE(s.try_recv()) << "it had been taken back";
        }
        EXPECT_EQ(action_of(SIGVTALRM).sa_handler, SIG_DFL) << "as before all of it";
        signals::ignore({SIGVTALRM});
        signals::ignore({SIGVTALRM});
        signals::reset({SIGVTALRM, SIGALRM});
        EXPECT_EQ(action_of(SIGVTALRM).sa_handler, SIG_DFL);
        EXPECT_EQ(action_of(SIGALRM).sa_handler, SIG_DFL);
        signals::reset({SIGVTALRM});
    });
}

TEST_P(Notify, RefusesInvalidSignals) {
    const auto refused = [](int signal, const std::string& words) {
        for (const bool ignoring : {false, true}) {
            try {
                if (ignoring) {
                    signals::ignore({signal});
                } else {
                    const subscription s = signals::notify({SIGVTALRM, signal});
                }
                ADD_FAILURE() << signal;
            } catch (const std::invalid_argument& e) {
                EXPECT_NE(std::string(e.what()).find(words), std::string::npos) << e.what();
            }
        }
    };
    refused(SIGKILL, "no program can handle it");
    refused(SIGSTOP, "no program can handle it");
    for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS})
        refused(fault, "handle it with sigaction");
    refused(SIGURG, "the runtime uses it");
    refused(32, "the C library uses it");
    for (const int none : {0, -1, 65, 1000}) refused(none, "a signal has a number from 1 to 64");
    EXPECT_EQ(action_of(SIGVTALRM).sa_handler, SIG_DFL) << "nothing has changed";
    EXPECT_THROW(static_cast<void>(signals::notify({})), std::invalid_argument);
    EXPECT_THROW(signals::reset({SIGKILL}), std::invalid_argument);
    EXPECT_THROW(static_cast<void>(signals::is_ignored(0)), std::invalid_argument);
    try {
        static_cast<void>(signals::notify({SIGVTALRM}, 0));
        ADD_FAILURE();
    } catch (const std::invalid_argument& e) {
        EXPECT_NE(std::string(e.what()).find("use 1 or more"), std::string::npos);
    }
}

// The poller that held the descriptor ends with its runtime.
TEST_P(Notify, OutlivesTheRuntimeItWasMadeOn) {
    subscription s;
    {
        runtime other({.procs = 2});
        s = other.run([] { return signals::notify({SIGVTALRM}); });
    }
    send(SIGVTALRM);
    EXPECT_EQ(rt().run([&] { return s.recv(); }), SIGVTALRM);
}

// Other code installed a handler over ours that did not call it. Later it restored the default
// action instead of our handler.
TEST_P(Notify, SubscribesAgainAfterAForeignHandlerIsGone) {
    rt().run([&] {
        struct sigaction theirs{};
        theirs.sa_handler = [](int) {};
        {
            const subscription s = signals::notify({SIGVTALRM});
            ASSERT_EQ(::sigaction(SIGVTALRM, &theirs, nullptr), 0);
        }
        theirs.sa_handler = SIG_DFL;
        ASSERT_EQ(::sigaction(SIGVTALRM, &theirs, nullptr), 0);
        const subscription again = signals::notify({SIGVTALRM});
        send(SIGVTALRM);
        EXPECT_EQ(again.recv(), SIGVTALRM);
    });
}

TEST_P(Notify, DeliversRealTimeSignals) {
    if (emulated) GTEST_SKIP() << "the emulator has some of them for itself";
    rt().run([&] {
        const subscription s = signals::notify({SIGRTMIN, SIGRTMAX});
        send(SIGRTMAX);
        EXPECT_EQ(s.recv(), SIGRTMAX);
        send(SIGRTMIN);
        EXPECT_EQ(s.recv(), SIGRTMIN);
    });
}

// Many come and go, many subscribe, and none misses the last signal.
TEST_P(Notify, ConcurrentSubscriptionsLoseNoSignal) {
    std::atomic<bool> over = false;
    const subscription always = rt().run([] { return signals::notify({SIGVTALRM}); });
    rt().run([&] {
        wait_group all;
        for (int w = 0; w < 4; ++w) {
            all.go([&] {
                while (!over) {
                    const subscription s = signals::notify({SIGVTALRM, SIGALRM}, 1);
                    static_cast<void>(s.recv_for(1ms));
                }
            });
        }
        for (int i = 0; i < scaled(200); ++i) {
            send(SIGVTALRM);
            ASSERT_EQ(always.recv(), SIGVTALRM);
        }
        over = true;
        all.wait();
    });
}

// Old contents of the caller's stack must not matter: some of them are passed to the system.
WEFT_TEST_OPAQUE void scribble_on_the_stack() {
    static unsigned something = 0;
    ++something;
    std::array<volatile unsigned, 2048> below;
    for (volatile unsigned& word : below) word = something;
}

TEST_P(Notify, RepeatedSubscriptionsLeakNoMemory) {
    if (built_with_sanitizer) GTEST_SKIP() << "a sanitizer has an allocator of its own";
    const auto cycle = [] {
        scribble_on_the_stack();
        const subscription s = signals::notify({SIGVTALRM});
    };
    for (int i = 0; i < 10; ++i) cycle();
    const std::size_t before = heap_in_use_kib();
    for (int i = 0; i < 2000; ++i) cycle();
    EXPECT_LT(heap_in_use_kib(), before + 32);
}

// Like Go's test of that name: programs are started while signals arrive.
TEST_P(Notify, DeliversSignalsDuringProcessStarts) {
    std::atomic<bool> over = false;
    rt().run([&] {
        const subscription s = signals::notify({SIGVTALRM});
        wait_group all;
        all.go([&] {
            while (!over) {
                send(SIGVTALRM);
                EXPECT_EQ(s.recv(), SIGVTALRM);  // one that came later would end this process
            }
        });
        for (int i = 0; i < scaled(50); ++i) EXPECT_TRUE(process({"true"}).wait().ok());
        over = true;
        all.wait();
    });
}

}  // namespace
}  // namespace weft::test
