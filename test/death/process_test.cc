// process_test.cc: child processes where the system cannot report their end, or reports it
// elsewhere. Each test has its own process.

#include <signal.h>  // NOLINT(modernize-deprecated-headers): POSIX's
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <system_error>

#include <weft/process.h>
#include <weft/signals.h>
#include <weft/weft.h>

#include "death/death.h"
#include "os/process_calls.h"
#include "os/signals.h"
#include "support/build.h"
#include "support/eventually.h"
#include "support/failing_calls.h"

namespace weft::test {
namespace {

using namespace std::chrono_literals;

class ProcessDeath : public DeathTest {};

constexpr long pwritev2_call =
#if defined(__x86_64__)
    328;
#else
    287;
#endif
constexpr long clone_call =
#if defined(__x86_64__)
    56;
#else
    220;
#endif
constexpr long pidfd_send_signal_call = 424;
constexpr long pidfd_open_call = 434;
constexpr uint32_t clone_with_descriptor = 0x1000;

#define EXPECT_FINE(statement) EXPECT_EXIT(statement, ::testing::ExitedWithCode(0), "^$")

void require(bool condition, int status) {
    if (!condition) std::_Exit(status);
}

void await_gone(int pid) {
    eventually([&] { return ::kill(pid, 0) != 0 && errno == ESRCH; });
}

// Waits for, times out, kills and abandons child processes.
void use_processes() {
    process three({"sh", "-c", "exit 3"});
    require(three.wait().code == 3, 10);
    process p({"cat"}, {.in = stdio::pipe});
    require(!p.wait_for(10ms), 11);
    std::error_code ec;
    with_timeout(10ms, [&] { p.wait(ec); });
    require(ec == errc::timed_out, 12);
    p.in().close();
    require(p.wait().ok(), 13);
    require(!p.kill(SIGTERM), 14);
    process q({"cat"}, {.in = stdio::pipe});
    require(q.kill(SIGTERM), 15);
    require(q.wait().signal == SIGTERM, 16);
    require(run_process({"cat"}, "text").out == "text", 17);
    // The group outlives its leader.
    process leader({"sh", "-c", "sleep 1000 & exec cat"},
                   {.in = stdio::pipe, .out = stdio::pipe, .group = process_group::own});
    leader.in().close();
    require(leader.wait().ok(), 18);
    require(!leader.kill(SIGTERM), 19);
    require(leader.kill_group(SIGKILL), 20);
    char b[1];
    require(leader.out().read(b) == 0, 21);  // the other process had it open, too
}

// Runs it in green threads, with several numbers of processors, and in a plain thread.
void use_processes_everywhere() {
    for (const unsigned procs : {1U, 4U}) {
        runtime rt({.procs = procs});
        rt.run(use_processes);
    }
    use_processes();
}

TEST_F(ProcessDeath, WaitWorksWithoutPidfds) {
    if (emulated) GTEST_SKIP() << "the emulator has no filters";
    for (const uint32_t error : {EINVAL, EPERM, ENOSYS}) {
        EXPECT_FINE({
            fail_from_now_on(clone_call, error, clone_with_descriptor);
            use_processes_everywhere();
            int left = 0;
            {
                const process ends({"sleep", "0.01"});
                left = ends.pid();
            }
            std::this_thread::sleep_for(100ms);
            process next({"true"});  // starting a process also reaps those that were left
            await_gone(left);
            next.wait();
            std::_Exit(0);
        });
    }
}

// The seccomp filters of containers that are older than these calls refuse both.
TEST_F(ProcessDeath, KillWorksIfPidfdSignalsAreRefused) {
    if (emulated) GTEST_SKIP() << "the emulator has no filters";
    for (const uint32_t error : {EPERM, ENOSYS}) {
        EXPECT_FINE({
            fail_from_now_on(pidfd_send_signal_call, error);
            fail_from_now_on(pidfd_open_call, error);
            runtime rt({.procs = 2});
            rt.run([] {
                use_processes();
                try {
                    with_timeout(20ms, [] { static_cast<void>(run_process({"sleep", "1000"})); });
                    std::_Exit(60);
                } catch (const timed_out&) {}
                // The object does not know that the process has ended before it sends the signal.
                process ended({"true"});
                siginfo_t info{};
                require(::waitid(P_PID, static_cast<id_t>(ended.pid()), &info, WEXITED | WNOWAIT) == 0, 61);
                require(!ended.kill(SIGTERM), 62);
                require(ended.wait().ok(), 63);
            });
            use_processes();
            std::_Exit(0);
        });
    }
}

// SIGPIPE would end this process. It must not stay pending either on a thread that blocks it.
void write_to_nobody() {
    pipe_ends ends = make_pipe();
    ends.reader.close();
    std::error_code ec;
    static_cast<void>(ends.writer.write_some("x", ec));
    require(ec == std::errc::broken_pipe, 23);
    sigset_t pending;
    sigpending(&pending);
    require(sigismember(&pending, SIGPIPE) == 0, 24);
    pipe_ends good = make_pipe();
    require(good.writer.write_some("x") == 1, 25);
}

TEST_F(ProcessDeath, ABrokenPipeRaisesNothingWithoutAFlagForWrites) {
    if (emulated) GTEST_SKIP() << "the emulator has no filters";
    EXPECT_FINE({
        fail_from_now_on(pwritev2_call, EOPNOTSUPP);
        write_to_nobody();
        runtime rt({.procs = 2});
        rt.run([] {
            wait_group all;
            for (int i = 0; i < 8; ++i) all.go(write_to_nobody);
            all.wait();
        });
        std::_Exit(weft::main([] {
            write_to_nobody();
            return 0;
        }));
    });
}

// The library must not consume one that was pending before.
TEST_F(ProcessDeath, APendingSignalOfAnotherPipeStays) {
    if (emulated) GTEST_SKIP() << "the emulator has no filters";
    EXPECT_FINE({
        fail_from_now_on(pwritev2_call, EOPNOTSUPP);
        sigset_t broken;
        sigemptyset(&broken);
        sigaddset(&broken, SIGPIPE);
        pthread_sigmask(SIG_BLOCK, &broken, nullptr);
        raise(SIGPIPE);
        pipe_ends ends = make_pipe();
        ends.reader.close();
        std::error_code ec;
        static_cast<void>(ends.writer.write_some("x", ec));
        sigset_t pending;
        sigpending(&pending);
        std::_Exit(sigismember(&pending, SIGPIPE) == 1 ? 0 : 1);
    });
}

// The system forgets how children end. The library may know it all the same; if not, it reports
// that.
void wait_for_a_forgotten_one() {
    process p({"sh", "-c", "read x; exit 3"}, {.in = stdio::pipe});
    require(!p.wait_for(10ms), 30);
    p.in().close();
    std::error_code ec;
    const exit_status status = p.wait(ec);
    require(ec == std::errc::no_child_process || (!ec && status.code == 3), 31);
    require(!p.kill(SIGTERM), 32);
    if (!ec) return;
    try {
        p.wait();
        std::_Exit(33);
    } catch (const std::system_error& e) {
        require(std::string(e.what()).find("waits for any child") != std::string::npos, 34);
    }
}

TEST_F(ProcessDeath, WaitReturnsIfSigchldIsIgnored) {
    EXPECT_FINE({
        ::signal(SIGCHLD, SIG_IGN);
        runtime rt({.procs = 2});
        rt.run(wait_for_a_forgotten_one);
        wait_for_a_forgotten_one();
        std::_Exit(0);
    });
}

// The zombie that counts as a member of the group is gone together with its status.
TEST_F(ProcessDeath, IgnoringSigchldKillsNoEmptyGroup) {
    EXPECT_FINE({
        ::signal(SIGCHLD, SIG_IGN);
        runtime rt({.procs = 2});
        rt.run([] {
            process p({"true"}, {.group = process_group::own});
            std::error_code ec;
            p.wait(ec);
            eventually([&] { return !p.kill_group(SIGTERM, ec); });
            require(!ec, 36);
        });
        std::_Exit(0);
    });
}

// The library knows how children end although the system forgets it at once. This includes children
// that end before the program asks for them.
TEST_F(ProcessDeath, WaitReturnsAtOnceIfSigchldIsIgnored) {
    if (emulated) GTEST_SKIP() << "the emulator makes no descriptor together with a child";
    utsname system{};
    ASSERT_EQ(::uname(&system), 0);
    int major = 0;
    int minor = 0;
    ASSERT_EQ(std::sscanf(system.release, "%d.%d", &major, &minor), 2);
    if (major < 6 || (major == 6 && minor < 15)) GTEST_SKIP() << "before Linux 6.15 the system tells nobody";
    EXPECT_FINE({
        signals::ignore({SIGCHLD});
        runtime rt({.procs = 2});
        rt.run([] {
            for (int round = 0; round < 10; ++round) {
                wait_group all;
                for (int i = 0; i < 20; ++i) {
                    all.go([i] {
                        process p({"sh", "-c", "exit " + std::to_string(i)});
                        std::error_code ec;
                        require(p.wait(ec).code == i && !ec, 35);
                    });
                }
                all.wait();
            }
        });
        std::_Exit(0);
    });
}

TEST_F(ProcessDeath, WaitReturnsIfChildrenAreNotKept) {
    EXPECT_FINE({
        struct sigaction action{};
        action.sa_handler = [](int) {};
        action.sa_flags = SA_NOCLDWAIT;
        ::sigaction(SIGCHLD, &action, nullptr);
        runtime rt({.procs = 2});
        rt.run(wait_for_a_forgotten_one);
        std::_Exit(0);
    });
}

TEST_F(ProcessDeath, WaitReturnsIfAHandlerReapsAnyChild) {
    EXPECT_FINE({
        struct sigaction action{};
        action.sa_handler = [](int) {
            const int kept_errno = errno;
            while (::waitpid(-1, nullptr, WNOHANG) > 0) {}
            errno = kept_errno;
        };
        action.sa_flags = SA_RESTART;
        ::sigaction(SIGCHLD, &action, nullptr);
        runtime rt({.procs = 2});
        rt.run([] {
            // Either may be faster.
            for (int i = 0; i < 20; ++i) {
                process p({"sh", "-c", "exit 3"});
                std::error_code ec;
                const exit_status status = p.wait(ec);
                require(ec == std::errc::no_child_process || (!ec && status.code == 3), 40);
            }
        });
        std::_Exit(0);
    });
}

// The waiter for a child process is woken from outside the process.
TEST_F(ProcessDeath, AWaitIsNoDeadlock) {
    for (const unsigned procs : {1U, 2U, 4U}) {
        EXPECT_FINE({
            if (!weft::detail::os::can_ask) ::setenv("RUN_DEBUG", "deadlock=strict", 1);  // NOLINT: no threads yet
            std::_Exit(weft::main({.procs = procs}, [] { return process({"sleep", "0.3"}).wait().code; }));
        });
    }
}

// Neither the parent's children nor its pollers belong to the child.
TEST_F(ProcessDeath, TheChildOfAForkMayUseProcesses) {
    if (built_with_tsan || emulated) GTEST_SKIP() << "neither knows processes that fork with threads and start some";
    EXPECT_FINE({
        runtime parent({.procs = 2});
        parent.run(use_processes);
        process ours({"cat"}, {.in = stdio::pipe});
        process left({"sleep", "0.5"});
        left.detach();
        const pid_t child = ::fork();
        if (child == 0) {
            ::alarm(60);
            std::error_code ec;
            ours.wait(ec);
            require(ec == std::errc::no_child_process, 50);
            use_processes_everywhere();
            process({"sleep", "0.01"}).detach();
            std::_Exit(0);
        }
        int status = 0;
        while (::waitpid(child, &status, 0) < 0) {}
        ours.in().close();
        require(ours.wait().ok(), 51);
        std::_Exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
    });
}

}  // namespace
}  // namespace weft::test
