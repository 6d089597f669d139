// file_wait_test.cc: files that are not on a disk: FIFOs, terminals, sockets and devices.
// every_wait.h covers what ends a call that waits on one; here such calls are served.

#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <numeric>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include <gtest/gtest.h>

#include <weft/fs.h>
#include <weft/weft.h>

#include "support/eventually.h"
#include "support/outside_poller.h"
#include "support/procs_test.h"
#include "support/sigpipe_counter.h"
#include "support/temp_folder.h"
#include "support/two_ends.h"
#include "support/units.h"

namespace weft::test {
namespace {

using namespace std::chrono_literals;
using fs::access;
using fs::file;

class FileWait : public procs_test {
protected:
    static void SetUpTestSuite() { open_outside_poller(); }

    FileWait() { EXPECT_EQ(::mkfifo(fifo_.c_str(), 0600), 0); }

    void TearDown() override {
        EXPECT_EQ(sigpipes_.count(), 0) << "SIGPIPE never comes";
        procs_test::TearDown();
    }

    static bool is_nonblocking(int fd) { return (::fcntl(fd, F_GETFL) & O_NONBLOCK) != 0; }

    // Bytes that differ from their neighbours.
    static std::string much() {
        std::string text(mib, ' ');
        for (std::size_t i = 0; i < text.size(); ++i) text[i] = static_cast<char>('a' + i % 23);
        return text;
    }

    // Writes much() in one green thread, and reads it in another.
    void expect_all_arrives(file to, file from) {
        std::string got(mib, ' ');
        rt().run([&] {
            wait_group all;
            all.go([&] {
                EXPECT_EQ(to.write_all(much()), mib);
                to.close();
            });
            all.go([&] { EXPECT_EQ(from.read(got), mib); });
            all.wait();
            char b[1];
            EXPECT_EQ(from.read_some(b), 0U);
        });
        EXPECT_EQ(got, much());
    }

    temp_folder folder_;
    const std::string fifo_ = folder_ / "fifo";
    sigpipe_counter sigpipes_;
};

WEFT_SWEEP_OVER(FileWait, 1U, 2U, 4U);

TEST_P(FileWait, AnOpenedFifoTransfersEverything) {
    file from(fifo_);
    expect_all_arrives(file(fifo_, {.mode = access::write}), std::move(from));
}

TEST_P(FileWait, ABlockingPipeTransfersAllAndStaysBlocking) {
    std::array<int, 2> fds{};
    ASSERT_EQ(::pipe2(fds.data(), O_CLOEXEC), 0);
    file from = file::adopt(fds[0], "read end");
    file to = file::adopt(fds[1], "write end");
    EXPECT_FALSE(is_nonblocking(fds[0]));
    EXPECT_FALSE(is_nonblocking(fds[1]));
    expect_all_arrives(std::move(to), std::move(from));
}

TEST_P(FileWait, ABlockingSocketTransfersEverything) {
    std::array<int, 2> fds{};
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds.data()), 0);
    file to = file::adopt(fds[1], "write end");
    expect_all_arrives(std::move(to), file::adopt(fds[0], "read end"));
}

// A FIFO whose first writer has yet to come has not ended. It ends when the last writer closes it,
// until another one opens it.
TEST_P(FileWait, AFifoAwaitsItsFirstWriter) {
    rt().run([&] {
        file f(fifo_);
        std::atomic<std::size_t> got = 99;
        wait_group all;
        all.go([&] {
            char b[8];
            got = f.read_some(b);
        });
        sleep_for(2ms);
        EXPECT_EQ(got, 99U) << "nobody has opened it for writing";
        fs::write_file(fifo_, "one");
        all.wait();
        EXPECT_EQ(got, 3U);
        char b[8];
        EXPECT_EQ(f.read_some(b), 0U);
        file second(fifo_, {.mode = access::write});
        second.write_all("four");
        EXPECT_EQ(f.read_some(b), 4U);
    });
}

// A writer may open, write and close between a read of 0 and the check whether there was a writer.
TEST_P(FileWait, TheEndOfAFifoNeverPrecedesItsData) {
    constexpr int rounds = 300;
    for (int i = 0; i < rounds; ++i) {
        file f(fifo_);
        std::thread writer([&] {
            const int fd = ::open(fifo_.c_str(), O_WRONLY | O_CLOEXEC);
            EXPECT_EQ(::write(fd, "hello", 5), 5);
            ::close(fd);
        });
        std::size_t got = 0;
        rt().run([&] {
            char b[8];
            got = f.read_some(b);
        });
        writer.join();
        ASSERT_EQ(got, 5U) << "round " << i;
    }
}

TEST_P(FileWait, AWriterThatClosesWithoutWritingEndsAFifo) {
    rt().run([&] {
        file f(fifo_);
        wait_group all;
        all.go([&] {
            char b[8];
            EXPECT_EQ(f.read_some(b), 0U);
        });
        sleep_for(1ms);
        file(fifo_, {.mode = access::write}).close();
        all.wait();
    });
}

TEST_P(FileWait, OpeningAFifoToWriteAwaitsAReader) {
    rt().run([&] {
        std::atomic<bool> is_open = false;
        wait_group all;
        all.go([&] {
            file f(fifo_, {.mode = access::write});
            is_open = true;
            f.write_all("x");
        });
        sleep_for(5ms);
        EXPECT_FALSE(is_open);
        EXPECT_EQ(fs::read_file(fifo_), "x");
        all.wait();
        std::error_code ec;
        with_timeout(2ms, [&] { const file f(fifo_, {.mode = access::write}, ec); });
        EXPECT_EQ(ec, errc::timed_out);
        const file exclusive(fifo_, {.mode = access::write, .create = true, .exclusive = true}, ec);
        EXPECT_EQ(ec, std::errc::file_exists);
    });
}

// A process that opens it in the usual way does not hang.
TEST_P(FileWait, AFifoConnectsToAnotherProcess) {
    std::thread reader([&] {
        const int fd = ::open(fifo_.c_str(), O_RDONLY | O_CLOEXEC);
        char b[8];
        EXPECT_EQ(::read(fd, b, sizeof(b)), 5);
        ::close(fd);
    });
    rt().run([&] { file(fifo_, {.mode = access::write}).write_all("hello"); });
    reader.join();
}

TEST_P(FileWait, WritingWithoutAReaderIsBrokenPipe) {
    rt().run([&] {
        for (const bool adopts : {false, true}) {
            file reader(fifo_);
            file writer = adopts ? file::adopt(::open(fifo_.c_str(), O_WRONLY | O_CLOEXEC), fifo_)
                                 : file(fifo_, {.mode = access::write});
            reader.close();
            std::error_code ec;
            static_cast<void>(writer.write_some("x", ec));
            EXPECT_EQ(ec, std::errc::broken_pipe) << adopts;
        }
    });
}

TEST_P(FileWait, APositionIsRefused) {
    rt().run([&] {
        file f(fifo_);
        char b[8];
        std::error_code ec;
        static_cast<void>(f.pread(b, 0, ec));
        EXPECT_EQ(ec, std::errc::invalid_seek);
        f.seek(0, fs::seek_from::begin, ec);
        EXPECT_EQ(ec, std::errc::invalid_seek);
    });
}

TEST_P(FileWait, DevicesThatCannotBePolledAreReadAtOnce) {
    rt().run([] {
        file zero("/dev/zero");
        char b[8] = {1, 2, 3, 4, 5, 6, 7, 8};
        EXPECT_EQ(zero.read(b), 8U);
        EXPECT_EQ(std::accumulate(std::begin(b), std::end(b), 0), 0);
        EXPECT_FALSE(is_nonblocking(zero.native_handle()));
        file null("/dev/null", {.mode = access::read_write});
        EXPECT_EQ(null.write_all(b), 8U);
        EXPECT_EQ(null.read(b), 0U);
        EXPECT_EQ(file("/dev/urandom").read(b), 8U);
    });
}

TEST_P(FileWait, ATerminalIsReadLineByLine) {
    two_ends ends = two_ends::of_terminal();
    if (!ends) GTEST_SKIP() << "the system has no terminals";
    file terminal = file::adopt(::dup(ends.read_end()), "terminal");
    rt().run([&] {
        wait_group all;
        all.go([&] {
            char b[64];
            EXPECT_GT(terminal.read_some(b), 0U);
        });
        sleep_for(1ms);
        EXPECT_EQ(::write(ends.write_end(), "line\n", 5), 5);
        all.wait();
    });
}

// The write takes what fits, and a deadline ends the rest. The terminal's mode stays unchanged.
TEST_P(FileWait, AnUnreadBlockingTerminalDoesNotBlockAWrite) {
    for (const char filling : {'x', '\n'}) {
        two_ends ends = two_ends::of_terminal();
        if (!ends) GTEST_SKIP() << "the system has no terminals";
        file terminal = file::adopt(::dup(ends.write_end()), "terminal");
        std::error_code ec;
        rt().run([&] { with_timeout(20ms, [&] { terminal.write_all(std::string(mib, filling), ec); }); });
        EXPECT_EQ(ec, errc::timed_out);
        EXPECT_FALSE(is_nonblocking(ends.write_end()));
    }
}

// A shell may set the mode of its terminal at any time.
TEST_P(FileWait, ADescriptorThatBecomesBlockingBlocksNoCall) {
    for (const bool is_socket : {false, true}) {
        two_ends ends = is_socket ? two_ends::of_sockets() : two_ends::of_pipe();
        for (const int fd : {ends.read_end(), ends.write_end()}) ::fcntl(fd, F_SETFL, O_NONBLOCK);
        file from = file::adopt(::dup(ends.read_end()), "read end");
        file to = file::adopt(::dup(ends.write_end()), "write end");
        for (const int fd : {ends.read_end(), ends.write_end()}) ::fcntl(fd, F_SETFL, 0);
        std::error_code read_error;
        std::error_code write_error;
        rt().run([&] {
            char b[8];
            with_timeout(2ms, [&] { static_cast<void>(from.read_some(b, read_error)); });
            with_timeout(20ms, [&] { to.write_all(much(), write_error); });
        });
        EXPECT_EQ(read_error, errc::timed_out) << is_socket;
        EXPECT_EQ(write_error, errc::timed_out) << is_socket;
    }
}

// The system reports the error once.
TEST_P(FileWait, TheErrorOfAnAdoptedSocketIsReported) {
    for (const int flags : {0, static_cast<int>(SOCK_NONBLOCK)}) {
        const int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        socklen_t size = sizeof(address);
        auto* name = reinterpret_cast<sockaddr*>(&address);
        ASSERT_EQ(::bind(listener, name, size), 0);
        ASSERT_EQ(::listen(listener, 1), 0);
        ASSERT_EQ(::getsockname(listener, name, &size), 0);
        const int peer = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        ASSERT_EQ(::connect(peer, name, size), 0);
        file f = file::adopt(::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC | flags), "socket");
        ::close(listener);
        constexpr linger reset{1, 0};
        ASSERT_EQ(::setsockopt(peer, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset)), 0);
        ::close(peer);
        std::error_code ec;
        rt().run([&] {
            char b[8];
            static_cast<void>(f.read_some(b, ec));
        });
        EXPECT_EQ(ec, std::errc::connection_reset) << flags;
    }
}

// The position is refused even where a call without one would wait.
TEST_P(FileWait, APositionOfAnAdoptedDescriptorIsRefused) {
    for (const bool is_socket : {false, true}) {
        two_ends ends = is_socket ? two_ends::of_sockets() : two_ends::of_pipe();
        ends.fill();
        two_ends empty = is_socket ? two_ends::of_sockets() : two_ends::of_pipe();
        file from = file::adopt(::dup(empty.read_end()), "read end");
        file to = file::adopt(::dup(ends.write_end()), "write end");
        rt().run([&] {
            char b[8] = {};
            std::error_code ec;
            static_cast<void>(from.pread(b, 0, ec));
            EXPECT_EQ(ec, std::errc::invalid_seek) << is_socket;
            to.pwrite(b, 0, ec);
            EXPECT_EQ(ec, std::errc::invalid_seek) << is_socket;
        });
    }
}

TEST_P(FileWait, PlainThreadsMayWait) {
    file from(fifo_);
    file to(fifo_, {.mode = access::write});
    std::thread reader([&] {
        char b[8];
        EXPECT_EQ(from.read(b), 5U);
    });
    to.write_all("hello");
    to.close();
    reader.join();
}

// Waiting readers take turns: each gets a piece.
TEST_P(FileWait, SeveralReadersShareAFifo) {
    constexpr int readers = 8;
    rt().run([&] {
        file from(fifo_);
        file to(fifo_, {.mode = access::write});
        std::atomic<int> got = 0;
        wait_group all;
        for (int i = 0; i < readers; ++i) {
            all.go([&] {
                char b[1];
                got += static_cast<int>(from.read_some(b));
            });
        }
        to.write_all(std::string(readers, 'x'));
        all.wait();
        EXPECT_EQ(got, readers);
    });
}

}  // namespace
}  // namespace weft::test
