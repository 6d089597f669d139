// fd_calls_test.cc: when a short read from a Unix stream has emptied the socket.

#include "os/fd_calls.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>
#include <string_view>

#include <gtest/gtest.h>

namespace weft::detail::os {
namespace {

class UnixStreamRead : public testing::Test {
protected:
    UnixStreamRead() { EXPECT_EQ(socket_pair(SOCK_STREAM, pair_), 0); }

    ~UnixStreamRead() override {
        for (const int fd : pair_) fd_close(fd);
    }

    void send(std::string_view text) const {
        ASSERT_EQ(socket_send(pair_[0], text.data(), text.size()), static_cast<ssize_t>(text.size()));
    }

    // Reads up to size bytes, in two pieces.
    std::string receive(std::size_t size) {
        std::string text(size, '.');
        const std::size_t first = size / 2;
        const iovec into[] = {{text.data(), first}, {text.data() + first, size - first}};
        const ssize_t count = socket_receive_dropping_files(pair_[1], into, 2, stopped_);
        text.resize(count < 0 ? 0 : static_cast<std::size_t>(count));
        return text;
    }

    int pair_[2] = {-1, -1};
    bool stopped_ = false;
};

TEST_F(UnixStreamRead, AShortReadHasDrainedTheSocket) {
    send("one");
    send("two");
    EXPECT_EQ(receive(100), "onetwo");
    EXPECT_FALSE(stopped_);
    EXPECT_EQ(receive(100), "");
}

TEST_F(UnixStreamRead, StopsAtPassedFilesAndClosesThem) {
    int ends[2];
    ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    send("one");
    ASSERT_EQ(socket_send_files(pair_[0], "two", 3, &ends[1], 1), 3);
    send("three");
    fd_close(ends[1]);
    EXPECT_EQ(receive(100), "onetwo");
    EXPECT_TRUE(stopped_);
    EXPECT_EQ(receive(100), "three");
    EXPECT_FALSE(stopped_);
    char byte = 0;
    EXPECT_EQ(::read(ends[0], &byte, 1), 0) << "nobody has the other end of the pipe any more";
    fd_close(ends[0]);
}

TEST_F(UnixStreamRead, WithCredentialsStopsAtBytesOfAnotherSender) {
    const int on = 1;
    ASSERT_EQ(::setsockopt(pair_[1], SOL_SOCKET, SO_PASSCRED, &on, sizeof on), 0);
    send("one");
    const pid_t child = ::fork();
    if (child == 0) ::_exit(socket_send(pair_[0], "two", 3) == 3 ? 0 : 1);
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_EQ(status, 0);
    EXPECT_EQ(receive(100), "one");
    EXPECT_TRUE(stopped_);
    EXPECT_EQ(receive(100), "two");
}

}  // namespace
}  // namespace weft::detail::os
