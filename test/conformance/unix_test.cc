// unix_test.cc: Unix sockets: connections, datagrams, and what only they can do.

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <weft/net/unix.h>
#include <weft/weft.h>

#include "support/build.h"
#include "support/eventually.h"
#include "support/procs_test.h"
#include "support/temp_folder.h"

namespace weft::test {
namespace {

using namespace std::chrono_literals;
using net::const_buffer;
using net::mutable_buffer;
using net::unix_address;
using net::unix_datagram;
using net::unix_listener;
using net::unix_stream;

class Unix : public procs_test {
protected:
    [[nodiscard]] unix_address at(const std::string& name) const { return unix_address(directory_ / name); }

    [[nodiscard]] static bool exists(const unix_address& a) {
        return ::access(std::string(a.path()).c_str(), F_OK) == 0;
    }

    temp_folder directory_;
};

WEFT_SWEEP_OVER(Unix, 1U, 4U);

TEST(UnixAddress, IsAPathOrAnAbstractName) {
    EXPECT_EQ(unix_address("/run/x").path(), "/run/x");
    EXPECT_EQ(unix_address("/run/x").to_string(), "/run/x");
    EXPECT_FALSE(unix_address("x").is_abstract());
    EXPECT_TRUE(unix_address("@x").is_abstract());
    EXPECT_EQ(unix_address("@x").name(), "x");
    EXPECT_EQ(unix_address("@x").path(), "");
    EXPECT_EQ(unix_address("@x").to_string(), "@x");
    EXPECT_EQ(unix_address("@x"), unix_address::abstract_name("x"));
    EXPECT_NE(unix_address("@x"), unix_address("x"));
    EXPECT_TRUE(unix_address().is_unnamed());
    EXPECT_EQ(unix_address().to_string(), "unnamed");
    const std::string longest(unix_address::longest, 'p');
    EXPECT_EQ(unix_address(longest).path(), longest);
    EXPECT_EQ(unix_address::abstract_name(longest).name(), longest);
}

TEST(UnixAddress, RefusesEmptyTooLongAndZeroBytePaths) {
    const auto why = [](std::string_view text) -> std::string {
        try {
            const unix_address refused(text);
            return "it was taken";
        } catch (const std::invalid_argument& e) {
            return e.what();
        }
    };
    EXPECT_NE(why("").find("is not a path"), std::string::npos) << why("");
    const std::string too_long(unix_address::longest + 1, 'p');
    EXPECT_NE(why(too_long).find("107 bytes"), std::string::npos) << why(too_long);
    EXPECT_NE(why('@' + too_long).find("107 bytes"), std::string::npos);
    EXPECT_NE(why(std::string_view("a\0b", 3)).find("zero byte"), std::string::npos);
}

TEST_P(Unix, EchoesOverAPath) {
    unix_listener listener(at("s"));
    EXPECT_EQ(listener.local_address(), at("s"));
    rt().run([&] {
        go([&] {
            unix_stream c = listener.accept();
            char text[100];
            while (const std::size_t n = c.read_some(text)) c.write_all({text, n});
        });
        unix_stream c = unix_stream::connect(at("s"));
        EXPECT_EQ(c.remote_address(), at("s"));
        EXPECT_TRUE(c.local_address().is_unnamed());
        c.write_all("there and back");
        char text[14];
        EXPECT_EQ(c.read(text), sizeof(text));
        EXPECT_EQ(std::string(text, sizeof(text)), "there and back");
        c.shutdown_send();
        EXPECT_EQ(c.read_some(text), 0U);
    });
}

TEST_P(Unix, AnAbstractNameCreatesNoFile) {
    const unix_address name = unix_address::abstract_name(directory_ / "abstract");
    rt().run([&] {
        unix_listener listener(name);
        EXPECT_EQ(listener.local_address(), name);
        unix_stream near = unix_stream::connect(name);
        unix_stream far = listener.accept();
        EXPECT_EQ(near.remote_address(), name);
        far.write_all("x");
        char text[1];
        EXPECT_EQ(near.read_some(text), 1U);
    });
    EXPECT_TRUE(std::filesystem::is_empty(directory_.path()));
}

// More data may follow a short read if descriptors were sent in between.
TEST_P(Unix, APairPassesFilesWithItsBytes) {
    rt().run([&] {
        auto [near, far] = unix_stream::pair();
        int pipe_of[2];
        ASSERT_EQ(::pipe2(pipe_of, O_CLOEXEC), 0);
        EXPECT_EQ(near.send_files("files", pipe_of), 5U);
        near.write_all("more");
        ::close(pipe_of[0]);
        ::close(pipe_of[1]);
        std::vector<int> files;
        char text[100];
        std::size_t got = far.receive_files(text, files, 4).size;
        EXPECT_EQ(std::string(text, 5), "files");
        ASSERT_EQ(files.size(), 2U);
        if (got == 5) got += far.read_some({text + 5, sizeof(text) - 5});
        EXPECT_EQ(std::string(text, got), "filesmore");
        EXPECT_EQ(::write(files[1], "y", 1), 1);
        EXPECT_EQ(::read(files[0], text, 1), 1);
        EXPECT_EQ(text[0], 'y');
        for (const int file : files) {
            EXPECT_EQ(::fcntl(file, F_GETFD), FD_CLOEXEC);
            ::close(file);
        }
    });
}

// The data behind descriptors comes with the same edges as the data before them, so after a read
// that stops there another one is tried.
TEST_P(Unix, AReadThatStopsAtFilesIsContinued) {
    auto [near, far] = rt().run([] { return unix_stream::pair(); });
    far.set_read_deadline(std::chrono::steady_clock::now() + 10s);
    char text[100];
    park_off_thread(1, [&] { rt().go([&] { EXPECT_EQ(far.read_some(text), 1U); }); });
    near.write_all("x");
    rt().drain();  // it has waited, so from now on edges are counted
    for (const bool in_pieces : {false, true}) {
        auto [last, told] = rt().run([] { return unix_stream::pair(); });
        park_off_thread(1, [&] {
            rt().go([&] {
                char byte;
                EXPECT_EQ(told.read_some({&byte, 1}), 1U);
            });
        });
        near.write_all("before");
        ASSERT_EQ(near.send_files("with", std::vector<int>{0}), 4U);
        near.write_all("behind");
        last.write_all("x");
        rt().drain();  // the edges came in the same order, so those of far have been counted
        rt().run([&] {
            std::string got;
            while (got.size() < 16) {
                const mutable_buffer pieces[] = {{text, 50}, {text + 50, 50}};
                const std::size_t count = in_pieces ? far.readv_some(pieces) : far.read_some(text);
                ASSERT_GT(count, 0U);
                got.append(text, count);
            }
            EXPECT_EQ(got, "beforewithbehind");
        });
    }
}

TEST_P(Unix, FilesBeyondTheRoomAreClosed) {
    if (emulated) GTEST_SKIP() << "the emulator asks for twice the room and forgets what did not fit";
    rt().run([&] {
        auto [near, far] = unix_stream::pair();
        const std::vector<int> sent{0, 0, 0};
        EXPECT_EQ(near.send_files("x", sent), 1U);
        std::vector<int> files;
        char text[1];
        const net::received_files got = far.receive_files(text, files, 1);
        EXPECT_EQ(got.size, 1U) << "what came is not lost";
        EXPECT_TRUE(got.cut);
        EXPECT_EQ(files.size(), 1U);
        for (const int file : files) ::close(file);
        EXPECT_THROW(near.send_files("", sent), std::system_error);
        EXPECT_THROW(near.send_files("x", std::vector<int>(254)), std::system_error);
    });
}

TEST_P(Unix, ReturnsTheCredentialsOfThePeer) {
    const auto [near, far] = unix_stream::pair();
    EXPECT_EQ(near.credentials().pid, ::getpid());
    EXPECT_EQ(near.credentials().uid, ::getuid());
    EXPECT_EQ(near.credentials().gid, ::getgid());
}

// A mistyped path does not delete a file.
TEST_P(Unix, ReplaceDeletesOnlySockets) {
    const unix_address path = at("file");
    ASSERT_EQ(::close(::open(path.to_string().c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600)), 0);
    EXPECT_THROW(unix_listener(path, {.replace = true}), std::system_error);
    EXPECT_TRUE(exists(path));
}

// The system reports nothing of it to our side.
TEST_P(Unix, ShutdownSendEndsAWaitingWrite) {
    auto [near, far] = unix_stream::pair();
    std::error_code ec;
    const uint64_t parks = rt().stats().parks;
    rt().go([&, &mine = near] { mine.write_all(std::string(std::size_t{8} << 20, 'x'), ec); });
    eventually([&] { return rt().stats().parks > parks; });
    near.shutdown_send();
    rt().drain();
    EXPECT_EQ(ec, std::errc::broken_pipe);
}

TEST_P(Unix, TheListenerRemovesItsPath) {
    {
        const unix_listener listener(at("s"));
        EXPECT_TRUE(exists(at("s")));
    }
    EXPECT_FALSE(exists(at("s")));
    unix_listener moved;
    {
        unix_listener listener(at("s"));
        moved = std::move(listener);
    }
    EXPECT_TRUE(exists(at("s")));
    moved.close();
    EXPECT_FALSE(exists(at("s")));
    { const unix_listener stays(at("s"), {.unlink_on_close = false}); }
    EXPECT_TRUE(exists(at("s")));
}

// A child process destroys its inherited listener. The path belongs to the parent.
TEST_P(Unix, AChildDoesNotRemoveTheParentsPath) {
    unix_listener listener(at("s"));
    const pid_t child = ::fork();
    if (child == 0) {
        listener.close();
        ::_exit(0);
    }
    ::waitpid(child, nullptr, 0);
    EXPECT_TRUE(exists(at("s")));
}

TEST_P(Unix, AStalePathIsReplacedOnlyOnRequest) {
    { const unix_listener left(at("s"), {.unlink_on_close = false}); }
    try {
        const unix_listener again(at("s"));
        ADD_FAILURE();
    } catch (const std::system_error& e) {
        EXPECT_EQ(e.code(), std::errc::address_in_use);
        EXPECT_NE(std::string(e.what()).find("set replace"), std::string::npos) << e.what();
    }
    const unix_listener live(at("s"), {.replace = true});
    EXPECT_THROW(unix_listener(at("s"), {.replace = true}), std::system_error);  // that one still exists
    EXPECT_TRUE(exists(at("s")));
}

TEST_P(Unix, TheErrorOfAConnectNamesTheCause) {
    const auto why = [](const unix_address& to) -> std::string {
        try {
            static_cast<void>(unix_stream::connect(to));
            return "it is there";
        } catch (const std::system_error& e) {
            return e.what();
        }
    };
    rt().run([&] {
        EXPECT_NE(why(at("none")).find("the path does not exist"), std::string::npos) << why(at("none"));
        { const unix_listener left(at("s"), {.unlink_on_close = false}); }
        EXPECT_NE(why(at("s")).find("no server listens"), std::string::npos) << why(at("s"));
        std::error_code ec;
        static_cast<void>(unix_stream::connect(at("none"), ec));
        EXPECT_EQ(ec, std::errc::no_such_file_or_directory);
    });
}

// The system reports EAGAIN, and no event reports when to retry.
TEST_P(Unix, ConnectingWaitsWhileTheQueueIsFull) {
    unix_listener listener(at("s"), {.backlog = 0});
    rt().run([&] {
        std::vector<unix_stream> first;
        first.push_back(unix_stream::connect(at("s")));
        wait_group all;
        std::atomic<int> connected = 0;
        for (int i = 0; i < 4; ++i) {
            all.go([&] {
                const unix_stream c = unix_stream::connect(at("s"));
                ++connected;
            });
        }
        EXPECT_EQ(connected, 0);
        for (int i = 0; i < 5; ++i) first.push_back(listener.accept());
        all.wait();
        EXPECT_EQ(connected, 4);
        // A full queue and a deadline.
        first.push_back(unix_stream::connect(at("s")));
        std::error_code ec;
        with_timeout(5ms, [&] { static_cast<void>(unix_stream::connect(at("s"), ec)); });
        EXPECT_EQ(ec, errc::timed_out);
    });
}

TEST_P(Unix, DatagramsArriveWithTheirSenderAndBoundary) {
    rt().run([&] {
        unix_datagram server(at("server"));
        unix_datagram client(at("client"));
        client.send_to("hello", at("server"));
        char text[8];
        auto got = server.receive(text);
        EXPECT_EQ(std::string(text, got.size), "hello");
        EXPECT_EQ(got.from, at("client"));
        EXPECT_FALSE(got.cut);
        client.connect(at("server"));
        client.send("longer than eight");
        got = server.receive(text);
        EXPECT_EQ(std::string(text, got.size), "longer t");
        EXPECT_TRUE(got.cut);
        client.send("");
        EXPECT_EQ(server.receive(text).size, 0U);
        unix_datagram nameless = unix_datagram::unbound();
        nameless.send_to("x", at("server"));
        EXPECT_TRUE(server.receive(text).from.is_unnamed());
        EXPECT_THROW(nameless.send_to("x", at("nobody")), std::system_error);
    });
}

// No event reports when the queue of an unconnected receiver has room again.
TEST_P(Unix, ASenderWaitsWhileTheReceiversQueueIsFull) {
    constexpr int count = 2000;
    rt().run([&] {
        unix_datagram server(at("server"));
        wait_group all;
        all.go([&] {
            unix_datagram client = unix_datagram::unbound();
            for (int i = 0; i < count; ++i) client.send_to({&i, sizeof(i)}, at("server"));
        });
        for (int i = 0; i < count; ++i) {
            int got = -1;
            EXPECT_EQ(server.receive({&got, sizeof(got)}).size, sizeof(got));
            EXPECT_EQ(got, i);
        }
        all.wait();
    });
}

TEST_P(Unix, ClosingAndDeadlinesEndAWaitForADatagram) {
    rt().run([&] {
        auto [near, far] = unix_datagram::pair();
        char text[8];
        near.set_deadline(std::chrono::steady_clock::now() + 2ms);
        std::error_code ec;
        static_cast<void>(near.receive(text, ec));
        EXPECT_EQ(ec, errc::timed_out);
        near.clear_deadline();
        wait_group all;
        all.go([&] {
            std::error_code why;
            static_cast<void>(near.receive(text, why));
            EXPECT_EQ(why, errc::closed);
        });
        while (rt().stats().waiting == 0) yield();
        near.close();
        all.wait();
    });
}

}  // namespace
}  // namespace weft::test
