// process_windows_test.cc: as process_test.cc, on Windows. The programs that it starts are this
// one: a command says what it does in place of tests.
#include <fcntl.h>
#include <io.h>
#include <stdlib.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
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

#include "os/process_calls.h"
#include "os/windows_api.h"
#include "support/eventually.h"
#include "support/procs_test.h"
#include "support/scale.h"
#include "support/temp_folder.h"

namespace weft::test {
namespace {

using namespace std::chrono_literals;

using strings = std::vector<std::string>;

std::string own_file() {
    char path[MAX_PATH];
    return {path, GetModuleFileNameA(nullptr, path, MAX_PATH)};
}

constexpr const char* mark = "weft-child";

strings child(const strings& words) {
    strings command{own_file(), mark};
    command.insert(command.end(), words.begin(), words.end());
    return command;
}

// ---- In the started program.

void copy_input(bool to_stderr) {
    char bytes[16 * 1024];
    for (int got = 0; (got = _read(0, bytes, sizeof(bytes))) > 0;) {
        _write(1, bytes, static_cast<unsigned>(got));
        if (to_stderr) _write(2, bytes, static_cast<unsigned>(got));
    }
}

// A program that inherits standard output, and does what words say.
void start_other(const std::string& words) {
    STARTUPINFOA start{};
    start.cb = sizeof(start);
    PROCESS_INFORMATION info{};
    std::string line = '"' + own_file() + "\" " + mark + ' ' + words;
    if (CreateProcessA(nullptr, line.data(), nullptr, nullptr, TRUE, 0, nullptr, nullptr, &start, &info) == 0)
        _exit(99);
}

int run_command(int count, char** words) {
    for (const int fd : {0, 1, 2}) _setmode(fd, _O_BINARY);
    const std::string what = count > 0 ? words[0] : "";
    const std::string argument = count > 1 ? words[1] : "";
    if (what == "exit") return std::atoi(argument.c_str());
    if (what == "fault") *reinterpret_cast<volatile int*>(std::atoi(argument.c_str())) = 1;  // NOLINT
    if (what == "sleep") Sleep(static_cast<DWORD>(std::atoi(argument.c_str())));
    if (what == "cat") copy_input(false);
    if (what == "tee") copy_input(true);
    if (what == "say") {
        _write(1, "out\n", 4);
        _write(2, "err\n", 4);
    }
    if (what == "words") {
        for (int i = 1; i < count; ++i) std::printf("<%s>\n", words[i]);
    }
    if (what == "variable") {
        const char* value = std::getenv(argument.c_str());  // NOLINT(concurrency-mt-unsafe): one thread
        std::printf("%s\n", value != nullptr ? value : "(none)");
    }
    if (what == "folder") {
        char path[MAX_PATH];
        GetCurrentDirectoryA(MAX_PATH, path);
        std::puts(path);
    }
    if (what == "leave") {
        start_other("sleep 100000");
        std::puts("x");
    }
    if (what == "keep") {
        start_other("hold \"" + argument + '"');
        Sleep(100'000);
    }
    if (what == "hold") {
        CreateFileA(argument.c_str(), GENERIC_WRITE, 0, nullptr, CREATE_ALWAYS, 0, nullptr);
        Sleep(100'000);
    }
    if (what == "write") {
        if (std::FILE* file = std::fopen(argument.c_str(), "w")) std::fclose(file);
    }
    return 0;
}

const bool is_child = [] {
    if (__argc < 2 || std::strcmp(__argv[1], mark) != 0) return false;
    const int code = run_command(__argc - 2, __argv + 2);
    std::fflush(nullptr);
    _exit(code);
}();

// ---- In the tests.

class Process : public procs_test {
protected:
    // What stays for the life of the process: the poller of plain threads, the set of detached
    // processes, the threads of the system that wait for ends.
    static void SetUpTestSuite() {
        ASSERT_FALSE(is_child);
        process p(child({"sleep", "20"}));
        EXPECT_FALSE(p.wait_for(0s));
        EXPECT_TRUE(p.wait().ok());
        process left(child({"exit", "0"}));
    }
};

WEFT_SWEEP_OVER(Process, 1U, 2U, 4U);

TEST_P(Process, ReportsTheExitCode) {
    rt().run([] {
        EXPECT_EQ(process(child({"exit", "0"})).wait(), exit_status{});
        const exit_status failed = process(child({"exit", "3"})).wait();
        EXPECT_EQ(failed.code, 3);
        EXPECT_FALSE(failed.ok());
        EXPECT_EQ(failed.to_string(), "ended with status 3");
        EXPECT_EQ(process(child({"exit", "70000"})).wait().code, 70000);
    });
}

TEST_P(Process, StandardHandlesArePipes) {
    rt().run([] {
        process cat(child({"cat"}), {.in = stdio::pipe, .out = stdio::pipe});
        cat.in().write_all("3\n1\n2\n");
        cat.in().close();
        std::string text(100, ' ');
        text.resize(cat.out().read(text));
        EXPECT_EQ(text, "3\n1\n2\n");
        EXPECT_TRUE(cat.wait().ok());
        EXPECT_FALSE(cat.err().is_open());
        process both(child({"say"}), {.out = stdio::pipe, .err = stdio::pipe});
        text.assign(100, ' ');
        text.resize(both.err().read(text));
        EXPECT_EQ(text, "err\n");
        text.assign(100, ' ');
        text.resize(both.out().read(text));
        EXPECT_EQ(text, "out\n");
        process none(child({"tee"}), {.in = stdio::null, .out = stdio::null, .err = stdio::null});
        EXPECT_TRUE(none.wait().ok());
    });
}

TEST_P(Process, RunsToItsEndWithInputAndOutput) {
    rt().run([] {
        std::string much;  // more than pipes hold, in three directions at once
        for (int i = 0; i < 100'000; ++i) much += std::to_string(i) + '\n';
        const process_output copied = run_process(child({"tee"}), much);
        EXPECT_TRUE(copied.status.ok());
        EXPECT_EQ(copied.out, much);
        EXPECT_EQ(copied.err, much);
        const process_output not_read = run_process(child({"exit", "5"}), much);
        EXPECT_EQ(not_read.status.code, 5);
        EXPECT_EQ(run_process(child({"cat"})).out, "");
    });
    EXPECT_EQ(run_process(child({"say"})).out, "out\n");
}

TEST_P(Process, ManyRunAtOnce) {
    std::atomic<int> wrong = 0;
    rt().run([&] {
        wait_group all;
        for (int i = 0; i < scaled(60); ++i) {
            all.go([&, i] {
                process p(child({"cat"}), {.in = stdio::pipe, .out = stdio::pipe});
                p.in().write_all(std::to_string(i));
                p.in().close();
                std::string text(20, ' ');
                text.resize(p.out().read(text));
                if (text != std::to_string(i) || !p.wait().ok()) ++wrong;
            });
        }
        all.wait();
    });
    EXPECT_EQ(wrong, 0);
}

TEST_P(Process, SeveralThreadsMayWaitForOne) {
    process p = rt().run([] { return process(child({"cat"}), {.in = stdio::pipe}); });
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
        process p(child({"cat"}), {.in = stdio::pipe});
        EXPECT_EQ(p.wait_for(5ms), std::nullopt);
        EXPECT_EQ(p.wait_until(std::chrono::steady_clock::now() - 1s), std::nullopt);
        try {
            with_timeout(5ms, [&] { p.wait(); });
            ADD_FAILURE();
        } catch (const timed_out&) {}
        std::error_code ec;
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
        for (const int signal : {SIGTERM, SIGINT, weft::detail::os::kill_signal}) {
            process p(child({"cat"}), {.in = stdio::pipe});
            EXPECT_TRUE(p.kill(signal));
            EXPECT_EQ(p.wait().signal, signal);
            EXPECT_FALSE(p.kill(signal));
        }
        process p(child({"cat"}), {.in = stdio::pipe});
        std::error_code ec;
        EXPECT_FALSE(p.kill(65, ec));
        EXPECT_EQ(ec, std::errc::invalid_argument);
        try {
            p.kill(SIGILL);
            ADD_FAILURE();
        } catch (const std::system_error& e) {
            EXPECT_EQ(e.code(), std::errc::operation_not_supported);
            EXPECT_NE(std::string(e.what()).find("only SIGINT, SIGTERM"), std::string::npos) << e.what();
        }
        p.in().close();
        EXPECT_TRUE(p.wait().ok());
    });
}

TEST_P(Process, AFaultCountsAsItsSignal) {
    rt().run([] { EXPECT_EQ(process(child({"fault", "8"}), {.err = stdio::null}).wait().signal, SIGSEGV); });
}

// Its child holds the other end of this pipe, too, as long as it lives.
TEST_P(Process, AGroupIsKilledAfterItsLeaderHasEnded) {
    rt().run([] {
        for (const process_group group : {process_group::own, process_group::own_session}) {
            process p(child({"leave"}), {.out = stdio::pipe, .group = group});
            EXPECT_TRUE(p.wait().ok());
            std::error_code ec;
            char b[8];
            EXPECT_GE(p.out().read_some(b), 1U);
            with_timeout(20ms, [&] { static_cast<void>(p.out().read(b, ec)); });
            EXPECT_EQ(ec, errc::timed_out) << "the child lives";
            EXPECT_FALSE(p.kill(SIGTERM)) << "it has ended";
            EXPECT_TRUE(p.kill_group(SIGTERM)) << "the child has not";
            static_cast<void>(p.out().read(b));  // to its end
            EXPECT_TRUE(p.wait().ok()) << "asked again";
        }
    });
}

// What the command has started holds a file, which no other program can remove.
TEST_P(Process, AnInterruptedCommandEndsWithItsChildren) {
    const temp_folder folder;
    const std::string path = folder / "held";
    rt().run([&] {
        scope([&](auto& s) {
            s.go([&] { EXPECT_THROW(static_cast<void>(run_process(child({"keep", path}))), cancelled); });
            while (!fs::exists(path)) sleep_for(1ms);
            EXPECT_EQ(DeleteFileA(path.c_str()), 0);
            s.cancel();
        });
    });
    eventually([&] { return DeleteFileA(path.c_str()) != 0; });
}

TEST_P(Process, AnInheritedGroupIsNotKilled) {
    rt().run([] {
        process p(child({"cat"}), {.in = stdio::pipe});
        std::error_code ec;
        EXPECT_FALSE(p.kill_group(SIGTERM, ec));
        EXPECT_EQ(ec, std::errc::invalid_argument);
        p.in().close();
        EXPECT_TRUE(p.wait().ok());
    });
}

TEST_P(Process, AnAbandonedChildRunsOn) {
    const temp_folder folder;
    const std::string path = folder / "done";
    rt().run([&] { const process left(child({"write", path})); });
    eventually([&] { return fs::exists(path); });
}

TEST_P(Process, OptionsSetTheDirectoryAndEnvironment) {
    const temp_folder folder;
    rt().run([&] {
        const std::string said = run_process(child({"folder"}), {nullptr, 0}, {.directory = folder.path()}).out;
        EXPECT_NE(said.find(folder.path().substr(folder.path().find("weft_"))), std::string::npos) << said;
        const strings variables{"A=1", "B=two words", "C="};
        for (const auto& [name, value] :
             {std::pair("A", "1\n"), std::pair("B", "two words\n"), std::pair("D", "(none)\n")})
            EXPECT_EQ(run_process(child({"variable", name}), {nullptr, 0}, {.environment = variables}).out, value);
        _putenv_s("WEFT_TEST_VARIABLE", "inherited");
        EXPECT_EQ(run_process(child({"variable", "WEFT_TEST_VARIABLE"})).out, "inherited\n");
        _putenv_s("WEFT_TEST_VARIABLE", "");
    });
}

TEST_P(Process, WordsArriveAsTheyAre) {
    rt().run([] {
        const strings words{"words", "two words", "", "a\"b", "back\\", "x\\\"y z\\", "%PATH%", "^&|<>"};
        std::string expected;
        for (std::size_t i = 1; i < words.size(); ++i) expected += '<' + words[i] + ">\n";
        EXPECT_EQ(run_process(child(words)).out, expected);
    });
}

TEST_P(Process, ATimedOutWaiterPassesTheEndOn) {
    rt().run([&] {
        for (int round = 0; round < std::max(3, scaled(15)); ++round) {
            process p(child({"sleep", "50"}));
            wait_group both;
            both.go([&] { static_cast<void>(p.wait_for(std::chrono::milliseconds(45 + round))); });
            yield();
            both.go([&] { EXPECT_TRUE(p.wait().ok()); });
            both.wait();
        }
    });
}

TEST_P(Process, AProgramThatCannotStartIsAnError) {
    const temp_folder folder;
    fs::write_file(folder / "bad.exe", "no program");
    fs::write_file(folder / "script.bat", "exit 0");
    rt().run([&] {
        const auto refused = [](const strings& command, const process_options& options, std::errc why) {
            std::error_code ec;
            const process none(command, options, ec);
            EXPECT_EQ(ec, why) << command[0] << ": " << ec.message();
            EXPECT_EQ(none.pid(), 0);
            EXPECT_THROW(process(command, options), std::system_error);
        };
        using std::errc;
        refused({"no-such-program-here"}, {}, errc::no_such_file_or_directory);
        refused(child({"exit", "0"}), {.directory = "C:\\no\\such"}, errc::no_such_file_or_directory);
        refused({folder / "bad.exe"}, {}, errc::executable_format_error);
        refused({folder / "script.bat"}, {}, errc::executable_format_error);
        refused({"echo", "\xff"}, {}, errc::invalid_argument);
        refused({""}, {}, errc::invalid_argument);
    });
}

TEST_P(Process, AStopEndsWaits) {
    runtime other({.procs = 2});
    auto p = std::make_shared<process>(child({"cat"}), process_options{.in = stdio::pipe});
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

using Pipe = procs_test;
WEFT_SWEEP_OVER(Pipe, 1U, 2U, 4U);

TEST_P(Pipe, MovesBytesAndTellsTheEnd) {
    rt().run([] {
        pipe_ends ends = make_pipe();
        const std::string much(1 << 22, 'x');
        wait_group writer;
        writer.go([&] {
            ends.writer.write_all(much);
            ends.writer.close();
        });
        std::string got(much.size() + 1, ' ');
        got.resize(ends.reader.read(got));
        writer.wait();
        EXPECT_EQ(got, much);
    });
}

TEST_P(Pipe, AWriteAfterTheReaderHasGoneIsAnError) {
    rt().run([] {
        for (const bool left_unread : {false, true}) {
            pipe_ends ends = make_pipe();
            if (left_unread) ends.writer.write_all("x");
            ends.reader.close();
            std::error_code ec;
            ends.writer.write_all("y", ec);
            EXPECT_EQ(ec, std::errc::broken_pipe);
            EXPECT_EQ(ec.message(), "Broken pipe");
        }
    });
}

TEST(ErrorTexts, AreThoseOfOtherSystems) {
    EXPECT_EQ(std::make_error_code(std::errc::connection_refused).message(), "Connection refused");
    EXPECT_EQ(std::make_error_code(std::errc::address_in_use).message(), "Address already in use");
    EXPECT_EQ(std::make_error_code(std::errc::timed_out).message(), "Connection timed out");
    EXPECT_EQ(std::make_error_code(std::errc::permission_denied).message(), "Permission denied");
    EXPECT_EQ(std::error_code(99'999, std::generic_category()).message(), "Unknown error");
}

}  // namespace
}  // namespace weft::test
