// nonblocking_output_test.cc: an unread output never blocks its writer, nor changes for others.
#include "os/nonblocking_output.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include "os/os.h"
#include "support/two_ends.h"
#include "support/units.h"

namespace weft::detail::os {
namespace {

using test::ms;
using test::two_ends;

// Returns the number of bytes accepted.
std::size_t fill(nonblocking_output& out) {
    std::string text;
    while (text.size() < 4000) text += "a line of a report\n";
    std::size_t total = 0;
    for (;;) {
        const std::ptrdiff_t wrote = out.write_some(text.data(), text.size());
        if (wrote <= 0) return wrote == 0 ? total : 0;
        total += static_cast<std::size_t>(wrote);
    }
}

// The alarm ends the process if a write blocks.
void expect_never_waits(const two_ends& e) {
    alarm(60);
    {
        nonblocking_output out(e.write_end());
        EXPECT_GT(fill(out), 1000u);
        // A terminal passes data on, and then accepts a little more.
        bool takes_more = true;
        for (int i = 0; i < 100 && takes_more; ++i) {
            fill(out);
            takes_more = out.await(1 * ms);
        }
        EXPECT_FALSE(takes_more);
    }
    EXPECT_EQ(fcntl(e.write_end(), F_GETFL) & O_NONBLOCK, 0);  // shared with all writers
    alarm(0);
}

// While it exists, no descriptor can be opened.
class no_more_descriptors {
public:
    no_more_descriptors() {
        getrlimit(RLIMIT_NOFILE, &before_);
        const rlimit none{1, before_.rlim_max};  // poll() accepts at most this many
        setrlimit(RLIMIT_NOFILE, &none);
    }

    ~no_more_descriptors() { setrlimit(RLIMIT_NOFILE, &before_); }

    no_more_descriptors(const no_more_descriptors&) = delete;
    no_more_descriptors& operator=(const no_more_descriptors&) = delete;

private:
    rlimit before_{};
};

TEST(NonblockingOutput, AFullPipeDoesNotBlock) {
    const two_ends e = two_ends::of_pipe();
    expect_never_waits(e);
}

TEST(NonblockingOutput, AnUnreadTerminalDoesNotBlock) {
    const two_ends e = two_ends::of_terminal();
    if (!e) GTEST_SKIP() << "no pseudo terminals here";
    expect_never_waits(e);
}

TEST(NonblockingOutput, AnUnreadSocketDoesNotBlock) {
    const two_ends e = two_ends::of_sockets();
    expect_never_waits(e);
}

TEST(NonblockingOutput, AnOutputThatCannotBeReopenedDoesNotBlock) {
    const two_ends pipe_ends = two_ends::of_pipe();
    const two_ends terminal = two_ends::of_terminal();
    const no_more_descriptors none;
    expect_never_waits(pipe_ends);
    if (terminal) expect_never_waits(terminal);
}

TEST(NonblockingOutput, AReadEndsTheWaitForRoom) {
    const two_ends e = two_ends::of_pipe();
    nonblocking_output out(e.write_end());
    fill(out);
    std::thread reader([&] {
        char page[8192];
        EXPECT_GT(read(e.read_end(), page, sizeof(page)), 0);
    });
    EXPECT_TRUE(out.await(60'000 * ms));
    EXPECT_EQ(out.write_some("a", 1), 1);
    reader.join();
}

TEST(NonblockingOutput, TheEndOfAPipeIsNotKeptOpen) {
    two_ends e = two_ends::of_pipe();
    {
        nonblocking_output out(e.write_end());
        EXPECT_EQ(out.write_some("a", 1), 1);
    }
    e.close_write_end();
    char text[2];
    EXPECT_EQ(read(e.read_end(), text, 2), 1);
    EXPECT_EQ(read(e.read_end(), text, 2), 0);
}

TEST(NonblockingOutput, AppendsToAFileAtTheSharedPosition) {
    std::FILE* file = std::tmpfile();
    ASSERT_NE(file, nullptr);
    const int fd = fileno(file);
    ASSERT_EQ(write(fd, "their ", 6), 6);
    {
        nonblocking_output out(fd);
        EXPECT_EQ(out.write_some("ours ", 5), 5);
    }
    ASSERT_EQ(write(fd, "theirs", 6), 6);
    char text[32] = {};
    EXPECT_EQ(pread(fd, text, sizeof(text), 0), 17);
    EXPECT_STREQ(text, "their ours theirs");
    std::fclose(file);
}

TEST(NonblockingOutput, AClosedOutputFailsEveryWrite) {
    two_ends e = two_ends::of_pipe();
    nonblocking_output out(e.write_end());
    e.close_write_end();
    EXPECT_TRUE(out.await(60'000 * ms));
    EXPECT_EQ(out.write_some("for nobody", 10), -1);
}

// If a signal ended the wait, the next write would block for ever.
TEST(NonblockingOutput, ASignalDoesNotEndTheWaitForRoom) {
    struct sigaction action{};
    struct sigaction before{};
    action.sa_handler = [](int) {};
    sigaction(SIGUSR1, &action, &before);
    const two_ends e = two_ends::of_pipe();
    nonblocking_output out(e.write_end());
    fill(out);
    std::atomic<bool> over = false;
    std::thread disturber([&over, self = pthread_self()] {
        while (!over) {
            pthread_kill(self, SIGUSR1);
            sleep_ns(1 * ms);
        }
    });
    const int64_t began_ns = monotonic_ns();
    EXPECT_FALSE(out.await(50 * ms));
    EXPECT_GE(monotonic_ns() - began_ns, 50 * ms);
    EXPECT_EQ(fill(out), 0u);
    over = true;
    disturber.join();
    sigaction(SIGUSR1, &before, nullptr);
}

}  // namespace
}  // namespace weft::detail::os
