// process_test.cc: programs that are started, communicated with, waited for, killed and detached.

#include <fcntl.h>
#include <signal.h>  // NOLINT(modernize-deprecated-headers): POSIX's
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <weft/fs.h>
#include <weft/process.h>
#include <weft/weft.h>

#include "support/build.h"
#include "support/eventually.h"
#include "support/procs_test.h"
#include "support/scale.h"
#include "support/temp_folder.h"

namespace weft::test {
namespace {

using namespace std::chrono_literals;

using strings = std::vector<std::string>;

class Process : public procs_test {
protected:
    // What stays for the life of the process: the poller of plain threads, the set of detached
    // processes, and the default runtime with its own poller.
    static void SetUpTestSuite() {
        process p({"sleep", "0.1"});
        const int pid = p.pid();
        EXPECT_FALSE(p.wait_for(0s));
        p.detach();  // it runs, so it is added to the set
        await_gone(pid);
        EXPECT_EQ(run_process(shell("sleep 0.05; echo x")).out, "x\n");
        go([] {
            pipe_ends ends = make_pipe();
            ends.reader.set_deadline(std::chrono::steady_clock::now() + 1ms);
            char b[1];
            std::error_code ec;
            static_cast<void>(ends.reader.read_some(b, ec));
            closed_in_default = true;
        });
        eventually([] { return closed_in_default.load(); });
    }

    // Otherwise the next start of a program removes zombies (docs/processes.md).
    static bool has_descriptors() {
        const int fd = static_cast<int>(::syscall(434, ::getpid(), 0));  // pidfd_open
        siginfo_t info{};
        const bool waits =
            fd >= 0 && (::waitid(static_cast<idtype_t>(3), static_cast<id_t>(fd), &info, WEXITED | WNOHANG) == 0 ||
                        errno != EINVAL);
        if (fd >= 0) ::close(fd);
        return waits;
    }

    static void await_gone(int pid) {
        eventually([&] {
            if (::kill(pid, 0) != 0 && errno == ESRCH) return true;
            if (!has_descriptors()) process({"true"}).wait();
            return false;
        });
    }

    static inline std::atomic<bool> closed_in_default = false;

    static strings shell(const std::string& text) { return {"sh", "-c", text}; }
};

WEFT_SWEEP_OVER(Process, 1U, 2U, 4U, 64U);

TEST_P(Process, ReportsTheExitStatusOrSignal) {
    rt().run([] {
        EXPECT_EQ(process({"true"}).wait(), exit_status{});
        const exit_status failed = process(shell("exit 3")).wait();
        EXPECT_EQ(failed.code, 3);
        EXPECT_FALSE(failed.ok());
        EXPECT_EQ(failed.to_string(), "ended with status 3");
        const exit_status killed = process(shell("kill -9 $$")).wait();
        EXPECT_EQ(killed.signal, SIGKILL);
        EXPECT_EQ(killed.code, 0);
        EXPECT_FALSE(killed.ok());
        EXPECT_EQ(killed.to_string(), "was killed by signal 9");
    });
}

TEST_P(Process, StandardDescriptorsArePipes) {
    rt().run([] {
        process sort({"sort", "-n"}, {.in = stdio::pipe, .out = stdio::pipe});
        sort.in().write_all("3\n1\n2\n");
        sort.in().close();
        std::string text(100, ' ');
        text.resize(sort.out().read(text));
        EXPECT_EQ(text, "1\n2\n3\n");
        EXPECT_TRUE(sort.wait().ok());
        EXPECT_FALSE(sort.err().is_open());
        process both(shell("echo out; echo err >&2"), {.out = stdio::pipe, .err = stdio::pipe});
        text.assign(100, ' ');
        text.resize(both.err().read(text));
        EXPECT_EQ(text, "err\n");
        text.assign(100, ' ');
        text.resize(both.out().read(text));
        EXPECT_EQ(text, "out\n");
        process none(shell("cat; echo not seen"), {.in = stdio::null, .out = stdio::null});
        EXPECT_TRUE(none.wait().ok());
    });
}

TEST_P(Process, RunsToItsEndWithInputAndOutput) {
    rt().run([] {
        // More than pipes hold, in three directions at once.
        std::string much;
        for (int i = 0; i < 100'000; ++i) much += std::to_string(i) + '\n';
        const process_output copied = run_process(shell("tee /dev/stderr"), much);
        EXPECT_TRUE(copied.status.ok());
        EXPECT_EQ(copied.out, much);
        EXPECT_EQ(copied.err, much);
        const process_output not_read = run_process(shell("exit 5"), much);
        EXPECT_EQ(not_read.status.code, 5);
        EXPECT_EQ(run_process({"cat"}).out, "");
    });
    EXPECT_EQ(run_process({"echo", "from a plain thread"}).out, "from a plain thread\n");
}

TEST_P(Process, ManyRunAtOnce) {
    std::atomic<int> wrong = 0;
    rt().run([&] {
        wait_group all;
        for (int i = 0; i < scaled(60); ++i) {
            all.go([&, i] {
                process p(shell("read x; echo $x; exit " + std::to_string(i % 100)),
                          {.in = stdio::pipe, .out = stdio::pipe});
                p.in().write_all(std::to_string(i) + '\n');
                std::string text(20, ' ');
                text.resize(p.out().read(text));
                if (text != std::to_string(i) + '\n' || p.wait().code != i % 100) ++wrong;
            });
        }
        all.wait();
    });
    EXPECT_EQ(wrong, 0);
}

TEST_P(Process, SeveralThreadsMayWaitForOne) {
    process p = rt().run([] { return process({"cat"}, {.in = stdio::pipe}); });
    std::atomic<int> told = 0;
    std::thread plain;
    park(4, [&] {
        for (int i = 0; i < 4; ++i) {
            rt().go([&] {
                if (p.wait().ok()) ++told;
            });
        }
        plain = std::thread([&] {
            if (p.wait().ok()) ++told;
        });
    });
    p.in().close();
    rt().drain();
    plain.join();
    EXPECT_EQ(told, 5);
    EXPECT_TRUE(p.wait().ok()) << "the same again";
    EXPECT_FALSE(p.kill(SIGTERM)) << "it has ended";
}

TEST_P(Process, DeadlinesAndCancellationDoNotEndIt) {
    rt().run([] {
        process p({"cat"}, {.in = stdio::pipe});
        EXPECT_EQ(p.wait_for(5ms), std::nullopt);
        EXPECT_EQ(p.wait_until(std::chrono::steady_clock::now() - 1s), std::nullopt);
        try {
            with_timeout(5ms, [&] { p.wait(); });
            ADD_FAILURE();
        } catch (const timed_out&) {}
        std::error_code ec;
        with_timeout(5ms, [&] { p.wait(ec); });
        EXPECT_EQ(ec, errc::timed_out);
        scope([&](auto& s) {
            s.go([&] {
                p.wait(ec);
                EXPECT_EQ(ec, errc::cancelled);
            });
            s.cancel();
        });
        p.in().close();
        EXPECT_EQ(p.wait_for(1h), exit_status{});
        EXPECT_EQ(p.wait_for(0s), exit_status{});
    });
}

TEST_P(Process, KillEndsIt) {
    rt().run([] {
        process p({"cat"}, {.in = stdio::pipe});
        EXPECT_TRUE(p.kill(SIGTERM));
        EXPECT_EQ(p.wait().signal, SIGTERM);
        EXPECT_FALSE(p.kill(SIGTERM));
        for (const int none : {0, -1, 65}) {
            std::error_code ec;
            EXPECT_FALSE(p.kill(none, ec));
            EXPECT_EQ(ec, std::errc::invalid_argument);
        }
        try {
            p.kill(1000);
            ADD_FAILURE();
        } catch (const std::system_error& e) {
            EXPECT_NE(std::string(e.what()).find("signals are numbered from 1 to 64"), std::string::npos);
        }
    });
}

// run_process ends what it has started.
TEST_P(Process, AnInterruptedRunProcessKillsItsChild) {
    rt().run([] {
        try {
            with_timeout(20ms, [] { static_cast<void>(run_process({"sleep", "1000"})); });
            ADD_FAILURE();
        } catch (const timed_out&) {}
    });
}

// Its children hold the other end of this pipe, too, as long as they live.
TEST_P(Process, AGroupIsKilledAfterItsLeaderHasEnded) {
    rt().run([] {
        for (const process_group group : {process_group::own, process_group::own_session}) {
            process p(shell("sleep 1000 & sleep 1000 & exec cat"),
                      {.in = stdio::pipe, .out = stdio::pipe, .group = group});
            p.in().close();
            EXPECT_TRUE(p.wait().ok());
            std::error_code ec;
            char b[1];
            with_timeout(20ms, [&] { static_cast<void>(p.out().read(b, ec)); });
            EXPECT_EQ(ec, errc::timed_out) << "the children live";
            EXPECT_FALSE(p.kill(SIGTERM)) << "it has ended";
            EXPECT_TRUE(p.kill_group(SIGTERM)) << "they have not";
            EXPECT_EQ(p.out().read(b), 0U);
            EXPECT_TRUE(p.wait().ok()) << "asked again";
        }
    });
}

// The leader's zombie is the last member. It stays until the object releases it.
TEST_P(Process, KillGroupSucceedsWhileTheObjectKeepsTheLeader) {
    rt().run([] {
        for (const process_group group : {process_group::own, process_group::own_session}) {
            process p({"true"}, {.group = group});
            EXPECT_TRUE(p.wait().ok());
            EXPECT_FALSE(p.kill(SIGTERM)) << "it has ended";
            for (int i = 0; i < 3; ++i) EXPECT_TRUE(p.kill_group(SIGTERM));
            p.detach();
            EXPECT_FALSE(p.kill_group(SIGTERM));
        }
    });
}

TEST_P(Process, AGroupIsKilledWithItsLeader) {
    rt().run([] {
        process p(shell("sleep 1000 & echo x; wait"), {.out = stdio::pipe, .group = process_group::own});
        char b[3];
        EXPECT_EQ(p.out().read_some(b), 2U);
        EXPECT_TRUE(p.kill_group(SIGKILL));
        EXPECT_EQ(p.out().read(b), 0U);
        EXPECT_EQ(p.wait().signal, SIGKILL);
    });
}

TEST_P(Process, TheOptionsSetTheProcessGroup) {
    if (emulated) GTEST_SKIP() << "what /proc tells of a process is the emulator's";
    rt().run([] {
        const auto of = [](process_group group) {
            process p({"cat"}, {.in = stdio::pipe, .group = group});
            const std::pair ids(::getpgid(p.pid()) == p.pid(), ::getsid(p.pid()) == p.pid());
            p.in().close();
            EXPECT_TRUE(p.wait().ok());
            return ids;
        };
        EXPECT_EQ(of(process_group::inherit), std::pair(false, false));
        EXPECT_EQ(of(process_group::own), std::pair(true, false));
        EXPECT_EQ(of(process_group::own_session), std::pair(true, true));
    });
}

// The inherited group would be this program, and the one that started it.
TEST_P(Process, AnInheritedGroupIsNotKilled) {
    rt().run([] {
        process p({"cat"}, {.in = stdio::pipe});
        std::error_code ec;
        EXPECT_FALSE(p.kill_group(SIGKILL, ec));
        EXPECT_EQ(ec, std::errc::invalid_argument);
        try {
            p.kill_group(SIGKILL);
            ADD_FAILURE();
        } catch (const std::system_error& e) {
            EXPECT_NE(std::string(e.what()).find("process_group::own"), std::string::npos) << e.what();
        }
        EXPECT_FALSE(p.kill_group(0, ec));
        EXPECT_EQ(ec, std::errc::invalid_argument);
        p.in().close();
        EXPECT_TRUE(p.wait().ok());
        process none;
        EXPECT_FALSE(none.kill_group(SIGTERM, ec));
        EXPECT_FALSE(ec);
    });
}

// The grandchild is the last to have the FIFO open for writing.
TEST_P(Process, AnInterruptedCommandEndsWithItsChildren) {
    const temp_folder folder;
    const std::string path = folder / "fifo";
    ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
    rt().run([&] {
        fs::file lives(path);
        EXPECT_THROW(with_timeout(100ms,
                                  [&] {
                                      static_cast<void>(
                                          run_process(shell("sh -c 'echo x; exec sleep 1000' > " + path + " & wait")));
                                  }),
                     timed_out);
        char b[8];
        EXPECT_LE(lives.read(b), 2U) << "to its end";
    });
}

TEST_P(Process, AnAbandonedChildRunsOnAndIsReaped) {
    const temp_folder folder;
    const std::string path = folder / "done";
    std::vector<int> pids;
    rt().run([&] {
        for (int i = 0; i < 5; ++i) {
            const process left(shell("read x; echo $x > " + path + std::to_string(i)), {.in = stdio::pipe});
            pids.push_back(left.pid());
        }
        process assigned(shell("sleep 0.02; echo 1 > " + path));
        pids.push_back(assigned.pid());
        assigned = process({"true"});
        pids.push_back(assigned.pid());
    });
    for (const int pid : pids) await_gone(pid);
    EXPECT_TRUE(fs::exists(path)) << "it was not killed";
    process ended(shell("exit 0"));
    const int pid = ended.pid();
    siginfo_t info{};
    ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOWAIT), 0);
    ended.detach();
    EXPECT_EQ(::kill(pid, 0), -1) << "it was forgotten at once";
    EXPECT_EQ(ended.pid(), 0);
}

// The poller that was to report their ends is gone.
TEST_P(Process, AnAbandonedChildOutlivesTheRuntime) {
    std::vector<int> pids;
    {
        runtime other({.procs = 2});
        other.run([&] {
            for (int i = 0; i < 3; ++i) {
                const process left({"sleep", "0.05"});
                pids.push_back(left.pid());
            }
        });
    }
    for (const int pid : pids) await_gone(pid);
}

TEST_P(Process, OptionsSetTheDirectoryAndEnvironment) {
    const temp_folder folder;
    rt().run([&] {
        EXPECT_EQ(run_process({"pwd"}, {nullptr, 0}, {.directory = folder.path()}).out, folder.path() + '\n');
        const strings variables{"PATH=/usr/bin:/bin", "A=1", "B=two words", "C="};
        const process_output said =
            run_process(shell("echo \"$A|$B|$C|$HOME\""), {nullptr, 0}, {.environment = variables});
        EXPECT_EQ(said.out, "1|two words||\n");
        ::setenv("WEFT_TEST_VARIABLE", "inherited", 1);  // NOLINT(concurrency-mt-unsafe): nobody reads it meanwhile
        EXPECT_EQ(run_process(shell("echo $WEFT_TEST_VARIABLE")).out, "inherited\n");
        ::unsetenv("WEFT_TEST_VARIABLE");  // NOLINT(concurrency-mt-unsafe): as above
    });
}

// As if started from a shell, whichever thread starts it: our threads block all signals, and this
// program ignores SIGPIPE.
TEST_P(Process, TheChildHasNoBlockedOrIgnoredSignals) {
    if (emulated) GTEST_SKIP() << "what /proc tells of a process is the emulator's";
    struct sigaction ignore{};
    struct sigaction before{};
    ignore.sa_handler = SIG_IGN;
    ASSERT_EQ(::sigaction(SIGPIPE, &ignore, &before), 0);
    const std::string told = rt().run([] { return run_process({"grep", "Sig...:", "/proc/self/status"}).out; });
    ::sigaction(SIGPIPE, &before, nullptr);
    constexpr unsigned long long own_of_libc = 3ULL << 31;  // 32 and 33, which libc lets no program change
    for (const char* which : {"SigBlk:\t", "SigIgn:\t"}) {
        const std::size_t at = told.find(which);
        ASSERT_NE(at, std::string::npos) << told;
        EXPECT_EQ(std::stoull(told.substr(at + 8, 16), nullptr, 16) & ~own_of_libc, 0U) << told;
    }
}

// The end of a process is reported once. A waiter that gets the report, but runs only after its own
// deadline, has to pass it on.
TEST_P(Process, ATimedOutWaiterPassesTheEndOn) {
    std::atomic<bool> over = false;
    rt().run([&] {
        wait_group busy;
        for (int i = 0; i < 8; ++i) {
            busy.go([&] {
                while (!over) {
                    const auto until = std::chrono::steady_clock::now() + 3ms;
                    while (std::chrono::steady_clock::now() < until) {}
                    yield();
                }
            });
        }
        for (int round = 0; round < std::max(3, scaled(15)); ++round) {
            process p({"sleep", "0.05"});
            wait_group both;
            both.go([&] { static_cast<void>(p.wait_for(std::chrono::milliseconds(45 + round))); });
            yield();
            both.go([&] { EXPECT_TRUE(p.wait().ok()); });
            both.wait();
        }
        over = true;
        busy.wait();
    });
}

// What the runtime sets up for its own threads is not inherited.
TEST_P(Process, TheChildHasTheDefaultTimerSlack) {
    if (emulated) GTEST_SKIP() << "what /proc tells of a process is the emulator's";
    const std::string expected = std::to_string(::prctl(PR_GET_TIMERSLACK)) + '\n';
    rt().run([&] {
        for (int i = 0; i < 3; ++i) {
            yield();
            EXPECT_EQ(run_process({"cat", "/proc/self/timerslack_ns"}).out, expected);
        }
    });
}

TEST_P(Process, InheritsNoDescriptors) {
    rt().run([] {
        const pipe_ends ours = make_pipe();
        const std::string listed = run_process({"ls", "-l", "/proc/self/fd"}, "input").out;
        struct stat reader{};
        ASSERT_EQ(::fstat(ours.reader.native_handle(), &reader), 0);
        EXPECT_EQ(listed.find("pipe:[" + std::to_string(reader.st_ino) + ']'), std::string::npos) << listed;
    });
}

TEST_P(Process, AProgramThatCannotStartIsAnError) {
    if (emulated) GTEST_SKIP() << "the emulator's vfork is a fork: the parent does not learn why";
    const temp_folder folder;
    fs::write_file(folder / "text", "no program");
    fs::write_file(folder / "bad",
                   "\x7f"
                   "ELF");
    ASSERT_EQ(::chmod((folder / "bad").c_str(), 0755), 0);
    rt().run([&] {
        const auto refused = [](const strings& command, const process_options& options, std::errc why,
                                const std::string& words) {
            std::error_code ec;
            const process none(command, options, ec);
            EXPECT_EQ(ec, why) << ec.message();
            EXPECT_EQ(none.pid(), 0);
            try {
                const process p(command, options);
                ADD_FAILURE();
            } catch (const std::system_error& e) {
                EXPECT_EQ(e.code(), why);
                EXPECT_NE(std::string(e.what()).find(words), std::string::npos) << e.what();
            }
        };
        using std::errc;
        refused({"no-such-program-here"}, {}, errc::no_such_file_or_directory,
                "weft: start \"no-such-program-here\" (check the name of the program, PATH");
        refused({"true"}, {.directory = "/no/such"}, errc::no_such_file_or_directory, "and process_options::directory");
        refused({folder / "text"}, {}, errc::permission_denied, "check the permissions to execute");
        refused({folder / "bad"}, {}, errc::executable_format_error, "not a program for this machine");
        refused({}, {}, errc::invalid_argument, "the command is empty");
        refused({""}, {}, errc::invalid_argument, "its first word must name a program");
        refused({"echo", std::string("a\0b", 3)}, {}, errc::invalid_argument, "zero byte");
        refused({"true"}, {.environment = strings{"A"}}, errc::invalid_argument, "NAME=value");
        refused({"true"}, {.environment = strings{"=A"}}, errc::invalid_argument, "NAME=value");
        refused({"true"}, {.in = stdio::pipe, .directory = std::string("\0", 1)}, errc::invalid_argument, "zero byte");
    });
}

TEST_P(Process, AnEmptyObjectHasNoProcess) {
    process none;
    std::error_code ec;
    none.wait(ec);
    EXPECT_EQ(ec, std::errc::no_such_process);
    EXPECT_THROW(none.wait(), std::system_error);
    EXPECT_FALSE(none.kill(SIGTERM));
    EXPECT_EQ(none.pid(), 0);
    none.detach();
}

// Other parts of the program may handle SIGCHLD.
TEST_P(Process, WorksBesideAHandlerOfSigchld) {
    static std::atomic<int> heard;
    heard = 0;
    struct sigaction handle{};
    struct sigaction before{};
    handle.sa_handler = [](int) { ++heard; };
    handle.sa_flags = SA_RESTART;
    ASSERT_EQ(::sigaction(SIGCHLD, &handle, &before), 0);
    rt().run([] { EXPECT_EQ(process(shell("exit 4")).wait().code, 4); });
    eventually([&] { return heard > 0; });
    ::sigaction(SIGCHLD, &before, nullptr);
}

TEST_P(Process, AStopEndsWaits) {
    runtime other({.procs = 2});
    auto p = std::make_shared<process>(std::vector<std::string>{"cat"}, process_options{.in = stdio::pipe});
    std::atomic<bool> ended = false;
    other.go([&, p] {
        std::error_code ec;
        p->wait(ec);
        ended = ec == errc::cancelled;
    });
    eventually([&] { return other.stats().parks >= 1; });
    const stop_outcome done = other.shutdown(10s);
    EXPECT_EQ(done.abandoned, 0U);
    EXPECT_TRUE(ended);
    p->in().close();
    EXPECT_TRUE(p->wait().ok());
}

}  // namespace
}  // namespace weft::test
