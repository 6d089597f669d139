// notify_test.cc: signals and the end of processes: waits that are no deadlock, default actions,
// the child of a fork.

#include <signal.h>  // NOLINT(modernize-deprecated-headers): POSIX's
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <optional>
#include <thread>

#include <weft/signals.h>
#include <weft/weft.h>

#include "death/death.h"
#include "os/signals.h"
#include "support/build.h"

namespace weft::test {
namespace {

using namespace std::chrono_literals;
using signals::subscription;

class NotifyDeath : public DeathTest {};

void look_at_green_threads_only() {
    if (!weft::detail::os::can_ask || emulated)
        setenv("RUN_DEBUG", "deadlock=strict", 1);  // NOLINT(concurrency-mt-unsafe): no threads yet
}

// Another process sends the signal after a while, so that nothing in this process can expect it.
void send_later(int signal, std::chrono::milliseconds after) {
    const pid_t here = ::getpid();
    if (::fork() != 0) return;
    std::this_thread::sleep_for(after);
    ::kill(here, signal);
    std::_Exit(0);
}

TEST_F(NotifyDeath, AWaitForASignalIsNoDeadlock) {
    if (built_with_tsan) GTEST_SKIP() << "ThreadSanitizer holds back the signals of a thread that sleeps";
    for (const unsigned procs : {1U, 2U, 4U}) {
        EXPECT_EXIT(
            {
                send_later(SIGTERM, 300ms);
                std::_Exit(weft::main({.procs = procs}, [] {
                    const subscription s = signals::notify({SIGTERM});
                    return s.recv() == SIGTERM ? 0 : 1;
                }));
            },
            ::testing::ExitedWithCode(0), "^$");
        EXPECT_EXIT(
            {
                send_later(SIGTERM, 300ms);
                std::_Exit(weft::main({.procs = procs}, [] {
                    const subscription s = signals::notify({SIGTERM});
                    const chan<int> never_sent;
                    int got = 0;
                    select(on_recv(s.channel(), [&](std::optional<int> signal) { got = signal.value_or(0); }),
                           on_recv(never_sent, [](std::optional<int>) {}));
                    return got == SIGTERM ? 0 : 1;
                }));
            },
            ::testing::ExitedWithCode(0), "^$");
    }
}

// A subscription alone wakes no waiter.
TEST_F(NotifyDeath, ASubscriptionDoesNotHideADeadlock) {
    for (const unsigned procs : {1U, 2U, 4U}) {
        EXPECT_EXIT(
            {
                look_at_green_threads_only();
                std::_Exit(weft::main({.procs = procs}, [] {
                    const subscription s = signals::notify({SIGTERM});
                    const chan<int> never_sent;
                    never_sent.recv();
                    return 0;
                }));
            },
            ::testing::ExitedWithCode(deadlock_exit_code),
            says({fatal_line("all green threads are asleep: deadlock")}));
    }
}

// A waiter for a subscription that was cancelled can never be woken.
TEST_F(NotifyDeath, AWaitForAResetSignalIsADeadlock) {
    EXPECT_EXIT(
        {
            look_at_green_threads_only();
            std::_Exit(weft::main({.procs = 2}, [] {
                const subscription s = signals::notify({SIGTERM});
                signals::reset({SIGTERM});
                static_cast<void>(s.recv());
                return 0;
            }));
        },
        ::testing::ExitedWithCode(deadlock_exit_code), says({fatal_line("all green threads are asleep: deadlock")}));
}

TEST_F(NotifyDeath, TheLastSubscriptionRestoresTheDefaultAction) {
    EXPECT_EXIT(
        {
            std::_Exit(weft::main({.procs = 2}, [] {
                subscription s = signals::notify({SIGTERM});
                s.stop();
                ::kill(::getpid(), SIGTERM);
                sleep_for(10s);
                return 0;
            }));
        },
        ::testing::KilledBySignal(SIGTERM), "^$");
}

TEST_F(NotifyDeath, RefusesThePreemptSignal) {
    EXPECT_EXIT(
        {
            setenv("RUN_PREEMPT_SIGNAL", "10", 1);  // NOLINT(concurrency-mt-unsafe): no threads yet
            std::_Exit(weft::main({.procs = 2}, [] {
                wait_group all;
                all.go({.preemptible = true}, [] {});
                all.wait();
                try {
                    const subscription s = signals::notify({10});
                } catch (const std::invalid_argument& e) {
                    return std::string(e.what()).find("the runtime uses it") != std::string::npos ? 0 : 2;
                }
                return weft::detail::os::can_ask ? 1 : 0;  // ThreadSanitizer has no such signals
            }));
        },
        ::testing::ExitedWithCode(0), "^$");
}

TEST_F(NotifyDeath, TheChildOfAForkHasNoSubscriptions) {
    if (built_with_tsan || emulated) GTEST_SKIP() << "neither knows processes that fork with threads and start some";
    EXPECT_EXIT(
        {
            runtime parent({.procs = 2});
            const subscription s = parent.run([] { return signals::notify({SIGTERM, SIGUSR1}); });
            const pid_t child = ::fork();
            if (child == 0) {
                ::alarm(60);
                {
                    const subscription own = signals::notify({SIGUSR1});
                    ::raise(SIGUSR1);
                    runtime fresh({.procs = 2});
                    if (fresh.run([&] { return own.recv(); }) != SIGUSR1) std::_Exit(1);
                    if (s.try_recv()) std::_Exit(2);
                }
                ::raise(SIGTERM);  // acts as if there had been no subscription
                std::_Exit(3);
            }
            int status = 0;
            while (::waitpid(child, &status, 0) < 0) {}
            ::raise(SIGUSR1);
            const bool heard = parent.run([&] { return s.recv(); }) == SIGUSR1;
            std::_Exit(heard && WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM ? 0 : 1);
        },
        ::testing::ExitedWithCode(0), "^$");
}

}  // namespace
}  // namespace weft::test
