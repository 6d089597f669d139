// pipe_test.cc: pipes between green threads: data, the end, deadlines, and writes after all readers
// are gone.

#include <fcntl.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include <gtest/gtest.h>

#include <weft/pipe.h>
#include <weft/weft.h>

#include "support/eventually.h"
#include "support/procs_test.h"
#include "support/scale.h"

namespace weft::test {
namespace {

using namespace std::chrono_literals;

class Pipe : public procs_test {
protected:
    // The poller of plain threads stays, with two descriptors, once it exists.
    static void SetUpTestSuite() {
        pipe_ends ends = make_pipe();
        ends.reader.set_deadline(std::chrono::steady_clock::now() + 1ms);
        char b[1];
        std::error_code ec;
        static_cast<void>(ends.reader.read_some(b, ec));
        EXPECT_EQ(ec, errc::timed_out);
    }
};

WEFT_SWEEP_OVER(Pipe, 1U, 2U, 4U, 64U);

TEST_P(Pipe, ReadsReturnWrittenBytes) {
    rt().run([] {
        pipe_ends ends = make_pipe();
        const std::size_t size = std::size_t{4} << 20;  // more than fits: both have to wait
        wait_group all;
        all.go([&] {
            std::string text(size, ' ');
            for (std::size_t i = 0; i < size; ++i) text[i] = static_cast<char>('a' + static_cast<char>(i % 23));
            EXPECT_EQ(ends.writer.write_all(text), size);
            ends.writer.close();
        });
        std::string got(size + 1, ' ');
        EXPECT_EQ(ends.reader.read(got), size);
        std::size_t wrong = 0;
        for (std::size_t i = 0; i < size; ++i)
            wrong += got[i] == static_cast<char>('a' + static_cast<char>(i % 23)) ? 0 : 1;
        EXPECT_EQ(wrong, 0U);
        EXPECT_EQ(ends.reader.read_some(got), 0U);
        all.wait();
    });
}

TEST_P(Pipe, CarriesRoundTrips) {
    rt().run([] {
        pipe_ends there = make_pipe();
        pipe_ends back = make_pipe();
        wait_group all;
        all.go([&] {
            char b[16];
            while (const std::size_t n = there.reader.read_some(b)) back.writer.write_all({b, n});
            back.writer.close();
        });
        for (int i = 0; i < scaled(500); ++i) {
            const std::string sent = std::to_string(i);
            there.writer.write_all(sent);
            std::string got(sent.size(), ' ');
            ASSERT_EQ(back.reader.read(got), sent.size());
            ASSERT_EQ(got, sent);
        }
        there.writer.close();
        char b[1];
        EXPECT_EQ(back.reader.read(b), 0U);
        all.wait();
    });
}

TEST_P(Pipe, DeadlinesCancellationAndCloseEndWaits) {
    pipe_ends ends = rt().run([] { return make_pipe(); });
    std::atomic<int> closed = 0;
    rt().run([&] {
        char b[1];
        std::error_code ec;
        ends.reader.set_deadline(std::chrono::steady_clock::now() + 5ms);
        EXPECT_EQ(ends.reader.read_some(b, ec), 0U);
        EXPECT_EQ(ec, errc::timed_out);
        ends.reader.clear_deadline();
        try {
            with_timeout(5ms, [&] { static_cast<void>(ends.reader.read_some(b)); });
            ADD_FAILURE();
        } catch (const timed_out&) {}
        std::string much(1 << 20, 'x');
        ends.writer.set_deadline(std::chrono::steady_clock::now() + 5ms);
        const std::size_t fitted = ends.writer.write_all(much, ec);
        EXPECT_EQ(ec, errc::timed_out);
        EXPECT_LT(fitted, much.size());
        ends.writer.clear_deadline();
        EXPECT_EQ(ends.reader.read({much.data(), fitted}), fitted);
    });
    park(2, [&] {
        for (int i = 0; i < 2; ++i) {
            rt().go([&] {
                char b[1];
                std::error_code ec;
                static_cast<void>(ends.reader.read(b, ec));
                if (ec == errc::closed) ++closed;
            });
        }
    });
    ends.reader.close();
    rt().drain();
    EXPECT_EQ(closed, 2);
    EXPECT_FALSE(ends.reader.is_open());
    std::error_code ec;
    EXPECT_EQ(ends.reader.read({nullptr, 0}, ec), 0U);
    EXPECT_EQ(ec, errc::closed) << "of no bytes, too";
}

// This holds in green threads, some of them on a thread that accepts SIGPIPE, and in plain threads.
TEST_P(Pipe, WritingWithoutAReaderIsAnErrorAndNoSignal) {
    const auto write = [] {
        pipe_ends ends = make_pipe();
        ends.reader.close();
        std::error_code ec;
        EXPECT_EQ(ends.writer.write_some("x", ec), 0U);
        EXPECT_EQ(ec, std::errc::broken_pipe);
        try {
            ends.writer.write_all("x");
            ADD_FAILURE();
        } catch (const std::system_error& e) {
            EXPECT_EQ(e.code(), std::errc::broken_pipe);
        }
        sigset_t pending;
        sigpending(&pending);
        EXPECT_EQ(sigismember(&pending, SIGPIPE), 0);
    };
    write();  // a plain thread, whose SIGPIPE ends the process
    std::thread(write).join();
    rt().run([&] {
        wait_group all;
        for (int i = 0; i < 8; ++i) all.go(write);
        all.wait();
    });
}

TEST_P(Pipe, ASocketMayBeAnEnd) {
    rt().run([] {
        int both[2];
        ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, both), 0);
        pipe_writer out = pipe_writer::adopt(both[0]);
        pipe_reader in = pipe_reader::adopt(both[1]);
        wait_group all;
        all.go([&] {
            char b[5];
            EXPECT_EQ(in.read(b), 5U);
            in.close();
        });
        yield();
        out.write_all("hello");
        all.wait();
        std::error_code ec;
        static_cast<void>(out.write_some("x", ec));
        EXPECT_EQ(ec, std::errc::broken_pipe);
    });
}

TEST_P(Pipe, AdoptRefusesAnInvalidDescriptor) {
    try {
        static_cast<void>(pipe_reader::adopt(-1));
        ADD_FAILURE();
    } catch (const std::system_error& e) {
        EXPECT_EQ(e.code(), std::errc::bad_file_descriptor);
    }
    pipe_ends ends = make_pipe();
    const int fd = ends.writer.release();
    EXPECT_EQ(ends.writer.release(), -1);
    EXPECT_NE(::fcntl(fd, F_GETFD) & FD_CLOEXEC, 0);
    pipe_writer again = pipe_writer::adopt(fd);
    again.write_all("x");
    char b[1];
    EXPECT_EQ(ends.reader.read(b), 1U);
    pipe_reader moved = std::move(ends.reader);
    EXPECT_TRUE(moved.is_open());
    EXPECT_FALSE(ends.reader.is_open());  // NOLINT(bugprone-use-after-move): that is what is tested
}

}  // namespace
}  // namespace weft::test
