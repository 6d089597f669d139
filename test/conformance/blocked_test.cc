// blocked_test.cc: blocking system calls, in code that knows nothing of green threads, delay only
// the caller.

#include <fcntl.h>
#include <spawn.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <weft/weft.h>

#include "support/build.h"
#include "support/bystanders.h"
#include "support/eventually.h"
#include "support/procs_test.h"
#include "support/scale.h"
#include "support/tally.h"
#include "support/two_ends.h"

namespace weft::test {
namespace {

using namespace std::chrono_literals;

// Starts a shell with arguments. `from` is its standard input.
pid_t start_shell(const std::string& script, const std::vector<std::string>& arguments, int from) {
    std::vector<std::string> words = {"sh", "-c", script, "sh"};
    words.insert(words.end(), arguments.begin(), arguments.end());
    std::vector<char*> argv;
    for (std::string& w : words) argv.push_back(w.data());
    argv.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, from, STDIN_FILENO);
    pid_t child = 0;
    const int error = ::posix_spawn(&child, "/bin/sh", &actions, nullptr, argv.data(), environ);
    posix_spawn_file_actions_destroy(&actions);
    return error == 0 ? child : -1;
}

void write_all(int fd, const std::string& text) {
    EXPECT_EQ(::write(fd, text.data(), text.size()), static_cast<ssize_t>(text.size()));
}

class Blocked : public procs_test {
protected:
    Blocked() : procs_test(60s) {}

    // n green threads block until release() is called. The others do not wait for that.
    template <typename Block, typename Release>
    void others_go_on_while(unsigned n, Block block, Release release) {
        std::atomic<unsigned> began = 0;
        std::atomic<unsigned> ended = 0;
        for (unsigned i = 0; i < n; ++i) {
            rt().go({.name = "blocked"}, [&, i] {
                ++began;
                block(i);
                ++ended;
            });
        }
        eventually([&] { return began == n; });
        bystanders others(rt());
        EXPECT_TRUE(others.go_on());
        EXPECT_EQ(ended, 0U) << "nothing has blocked";
        release();
        rt().drain();
        EXPECT_EQ(ended, n);
    }
};

WEFT_SWEEP_OVER(Blocked, 1U, 2U, 4U);

// ---- read(2), from pipes that another process feeds.

// Reads up to the end of the line, with plain read(2).
std::string read_line(int fd) {
    std::string line;
    char c = 0;
    while (::read(fd, &c, 1) == 1 && c != '\n') line += c;
    return line;
}

TEST_P(Blocked, SixtyFourPipeReadersDelayNoOther) {
    constexpr unsigned n = 64;
    std::vector<two_ends> pipes;
    std::vector<std::string> write_ends;
    for (unsigned i = 0; i < n; ++i) {
        pipes.push_back(two_ends::of_pipe(0));  // for the child
        write_ends.push_back(std::to_string(pipes.back().write_end()));
    }
    two_ends command = two_ends::of_pipe();
    const pid_t feeder = start_shell("read go; n=0; for fd in \"$@\"; do echo $n > /proc/self/fd/$fd; n=$((n+1)); done",
                                     write_ends, command.read_end());
    ASSERT_GT(feeder, 0);
    for (two_ends& p : pipes) p.close_write_end();

    tally seen(n);
    others_go_on_while(
        n, [&](unsigned i) { seen.mark(static_cast<std::size_t>(std::stoul("0" + read_line(pipes[i].read_end())))); },
        [&] { write_all(command.write_end(), "go\n"); });
    EXPECT_TRUE(seen.exactly_once());
    EXPECT_GT(rt().stats().retakes_blocked, 0U);
    int status = -1;
    EXPECT_EQ(::waitpid(feeder, &status, 0), feeder);
    EXPECT_EQ(status, 0);
}

// A G that computes beside blocked readers gets about as much CPU time as a plain thread.
TEST_P(Blocked, BlockedReadersCostAComputingGNoCpuTime) {
    constexpr unsigned n = 16;
    constexpr long pieces = 10'000;
    constexpr long factor = 16;
    const auto piece = [] { compute_for(20us); };
    std::vector<two_ends> pipes;
    for (unsigned i = 0; i < n; ++i) pipes.push_back(two_ends::of_pipe());
    std::atomic<unsigned> reading = 0;
    std::atomic<bool> over = false;
    std::atomic<long> green = 0;
    for (unsigned i = 0; i < n; ++i) {
        rt().go([&, i] {
            ++reading;
            EXPECT_EQ(read_line(pipes[i].read_end()), "x");
        });
    }
    rt().go([&] {
        while (!over) {
            piece();
            ++green;
            weft::yield();
        }
    });
    eventually([&] { return reading == n && green > 0; });
    const long before = green;
    std::thread plain([&] {
        for (long i = 0; i < pieces; ++i) piece();
    });
    plain.join();
    EXPECT_GE((green - before) * factor, pieces);
    over = true;
    for (const two_ends& p : pipes) write_all(p.write_end(), "x\n");
    rt().drain();
}

// The readers are retaken and woken many times in turn. Nothing that is read is lost.
TEST_P(Blocked, ReadersReturnManyTimesWithoutLoss) {
    constexpr int pairs = 6;
    const int messages = scaled(60);
    tally seen(static_cast<std::size_t>(pairs * messages));
    std::vector<two_ends> pipes;
    for (int i = 0; i < 2 * pairs; ++i) pipes.push_back(two_ends::of_pipe());
    for (int i = 0; i < pairs; ++i) {
        const int there = i;
        const int back = pairs + i;
        rt().go([&, there, back] {  // asks
            for (int m = 0; m < messages; ++m) {
                write_all(pipes[static_cast<std::size_t>(there)].write_end(),
                          std::to_string(there * messages + m) + "\n");
                const std::string line = read_line(pipes[static_cast<std::size_t>(back)].read_end());
                seen.mark(static_cast<std::size_t>(std::stoul("0" + line)));
            }
            pipes[static_cast<std::size_t>(there)].close_write_end();
        });
        rt().go([&, there, back] {  // answers
            for (;;) {
                const std::string line = read_line(pipes[static_cast<std::size_t>(there)].read_end());
                if (line.empty()) break;
                write_all(pipes[static_cast<std::size_t>(back)].write_end(), line + "\n");
            }
        });
    }
    rt().drain();
    EXPECT_TRUE(seen.exactly_once());
}

// ---- Locks of files.

// An unnamed file that can be opened again.
class locked_file {
public:
    locked_file() : file_(std::tmpfile()) {}

    ~locked_file() { std::fclose(file_); }

    locked_file(const locked_file&) = delete;
    locked_file& operator=(const locked_file&) = delete;

    [[nodiscard]] int fd() const { return ::fileno(file_); }

    [[nodiscard]] int open_again() const {
        return ::open(("/proc/self/fd/" + std::to_string(fd())).c_str(), O_RDWR | O_CLOEXEC);
    }

private:
    FILE* file_;
};

TEST_P(Blocked, FlockDelaysNoOtherGreenThread) {
    const locked_file file;
    ASSERT_EQ(::flock(file.fd(), LOCK_EX), 0);
    others_go_on_while(
        procs() + 1,
        [&](unsigned) {
            const int mine = file.open_again();
            EXPECT_EQ(::flock(mine, LOCK_EX), 0);
            ::close(mine);
        },
        [&] { ::flock(file.fd(), LOCK_UN); });
}

// Like F_SETLKW, for locks of which a process may have several.
TEST_P(Blocked, ARangeLockDelaysNoOtherGreenThread) {
    const locked_file file;
    struct flock lock{};
    lock.l_type = F_WRLCK;
    lock.l_whence = SEEK_SET;
    lock.l_len = 10;
    ASSERT_EQ(::fcntl(file.fd(), F_OFD_SETLK, &lock), 0);
    others_go_on_while(
        procs() + 1,
        [&](unsigned) {
            struct flock same = lock;
            const int mine = file.open_again();
            EXPECT_EQ(::fcntl(mine, F_OFD_SETLKW, &same), 0);
            ::close(mine);
        },
        [&] {
            struct flock none = lock;
            none.l_type = F_UNLCK;
            ::fcntl(file.fd(), F_OFD_SETLK, &none);
        });
}

// ---- Waiting for processes, and for time.

TEST_P(Blocked, WaitpidDelaysNoOtherGreenThread) {
    two_ends command = two_ends::of_pipe();
    std::vector<pid_t> children;
    for (unsigned i = 0; i < procs(); ++i) {
        children.push_back(start_shell("read go; exit $1", {std::to_string(10 + i)}, command.read_end()));
        ASSERT_GT(children.back(), 0);
    }
    command.close_read_end();
    others_go_on_while(
        procs(),
        [&](unsigned i) {
            int status = 0;
            EXPECT_EQ(::waitpid(children[i], &status, 0), children[i]);
            EXPECT_EQ(WEXITSTATUS(status), static_cast<int>(10 + i));
        },
        [&] { command.close_write_end(); });
}

TEST_P(Blocked, ASystemSleepDelaysNoOtherGreenThread) {
    std::atomic<bool> over = false;
    others_go_on_while(
        procs() + 2,
        [&](unsigned) {
            while (!over) std::this_thread::sleep_for(50ms);
        },
        [&] { over = true; });
}

}  // namespace
}  // namespace weft::test
