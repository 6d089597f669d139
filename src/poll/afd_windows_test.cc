// afd_windows_test.cc: the contract of backend.h on Windows, over TCP connections.
//
// As in backend_test.cc, with one difference: what has come before a read and after it is one edge,
// because a request is armed again by the call that finds nothing (os/would_block_windows.h).
#include <array>
#include <cerrno>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <weft/detail/wait.h>

#include "os/fd_calls.h"
#include "os/os.h"
#include "os/poll_one.h"
#include "os/windows_api.h"
#include "poll/backend.h"

namespace weft::detail {
namespace {

using namespace std::chrono_literals;

class AfdPollBackend : public ::testing::Test {
protected:
    AfdPollBackend() : poller_(make_poll_backend()) {
        EXPECT_EQ(poller_->open(), 0);
        connect_ends();
    }

    ~AfdPollBackend() override {
        for (const int fd : ends_) close_end(fd);
    }

    void close_end(int fd) {
        if (fd < 0) return;
        poller_->remove(fd);
        os::fd_close(fd);
    }

    void connect_ends() {
        sockaddr_in at{};
        at.sin_family = AF_INET;
        at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        auto* address = reinterpret_cast<sockaddr*>(&at);
        uint32_t size = sizeof(at);
        const int listener = os::socket_make(AF_INET, SOCK_STREAM, 0);
        ASSERT_GE(listener, 0);
        ASSERT_EQ(os::socket_bind(listener, address, size), 0);
        ASSERT_EQ(os::socket_listen(listener, 1), 0);
        ASSERT_EQ(os::socket_name(listener, false, address, size), 0);
        ends_[1] = os::socket_make(AF_INET, SOCK_STREAM, 0);
        const int started = os::socket_connect(ends_[1], address, size);
        ASSERT_TRUE(started == 0 || started == -EINPROGRESS) << started;
        const auto until = std::chrono::steady_clock::now() + 10s;
        while ((ends_[0] = os::socket_accept(listener)) < 0 && std::chrono::steady_clock::now() < until)
            std::this_thread::yield();
        ASSERT_GE(ends_[0], 0);
        os::fd_close(listener);
    }

    void send(const std::string& text) const {
        EXPECT_EQ(os::socket_send(ends_[1], text.data(), text.size()), static_cast<ssize_t>(text.size()));
    }

    [[nodiscard]] std::string receive(std::size_t most = 100) const {
        std::string text(most, ' ');
        const ssize_t count = os::socket_receive(ends_[0], text.data(), text.size());
        return count < 0 ? "nothing" : text.substr(0, static_cast<std::size_t>(count));
    }

    // What wait() reports of one token until the bits have come, or nothing has for a while.
    uint32_t seen(uint64_t token, uint32_t wanted, std::chrono::milliseconds patience = 5s) {
        uint32_t what = 0;
        const int64_t until = os::monotonic_ns() + std::chrono::nanoseconds(patience).count();
        while ((what & wanted) != wanted && os::monotonic_ns() < until) {
            std::array<poll_event, poll_batch> some;
            const uint32_t count = poller_->wait(some.data(), until);
            for (uint32_t i = 0; i < count; ++i) {
                if (some[i].token == token) what |= some[i].what;
            }
        }
        return what;
    }

    // After the first edges: a read has found nothing.
    void add_and_forget() {
        ASSERT_EQ(poller_->add(ends_[0], 7), 0);
        ASSERT_EQ(seen(7, poll_bits::writable), poll_bits::writable);
        EXPECT_EQ(receive(), "nothing");
    }

    static constexpr std::chrono::milliseconds a_moment = 20ms;

    std::unique_ptr<poll_backend> poller_;
    std::array<int, 2> ends_{-1, -1};
};

TEST_F(AfdPollBackend, AddReportsTheCurrentReadiness) {
    send("x");
    constexpr uint32_t both = poll_bits::readable | poll_bits::writable;
    ASSERT_EQ(poller_->add(ends_[0], 7), 0);
    EXPECT_EQ(seen(7, both), both);
}

TEST_F(AfdPollBackend, ReportsAgainOnlyAfterAReadFoundNothing) {
    add_and_forget();
    EXPECT_EQ(seen(7, poll_bits::readable, a_moment), 0U);
    send("one");
    EXPECT_EQ(seen(7, poll_bits::readable), poll_bits::readable);
    EXPECT_EQ(seen(7, poll_bits::readable, a_moment), 0U) << "although nothing has read it";
    EXPECT_EQ(receive(), "one");
    EXPECT_EQ(receive(), "nothing");
    send("two");
    EXPECT_EQ(seen(7, poll_bits::readable), poll_bits::readable);
    EXPECT_EQ(receive(), "two");
}

TEST_F(AfdPollBackend, ReportsWritableAfterThePeerReads) {
    add_and_forget();
    const std::string much(1 << 16, 'x');
    ssize_t last = 0;
    // Windows may accept more for a moment while the peer's buffer fills.
    for (int full = 0; full < 3;) {
        last = os::socket_send(ends_[0], much.data(), much.size());
        full = last > 0 ? 0 : full + 1;
        if (last <= 0) std::this_thread::sleep_for(5ms);
    }
    ASSERT_EQ(last, -EAGAIN);
    std::string got(1 << 20, ' ');
    uint32_t what = 0;
    for (int reads = 0; reads < 200 && (what & poll_bits::writable) == 0; ++reads) {
        while (os::socket_receive(ends_[1], got.data(), got.size()) > 0) {}
        what |= seen(7, poll_bits::writable, a_moment);
    }
    EXPECT_NE(what & poll_bits::writable, 0U);
}

TEST_F(AfdPollBackend, ReportsTheEndOfThePeer) {
    add_and_forget();
    EXPECT_EQ(os::socket_shut(ends_[1], SD_SEND), 0);
    EXPECT_NE(seen(7, poll_bits::hung_up) & poll_bits::hung_up, 0U);
    EXPECT_EQ(receive(), "");
}

TEST_F(AfdPollBackend, ARemovedDescriptorCausesNoEvents) {
    add_and_forget();
    send("x");
    poller_->remove(ends_[0]);
    poller_->remove(ends_[0]);
    ASSERT_EQ(poller_->add(ends_[0], 8), 0);
    EXPECT_NE(seen(8, poll_bits::readable) & poll_bits::readable, 0U);
    EXPECT_EQ(seen(7, poll_bits::readable, a_moment), 0U);
}

TEST_F(AfdPollBackend, AddReturnsItsError) {
    add_and_forget();
    EXPECT_EQ(poller_->add(ends_[0], 8), EEXIST);
    EXPECT_EQ(poller_->add(1, 8), EPERM) << "a standard handle is no socket";
}

TEST_F(AfdPollBackend, AWaitEndsAtItsDeadlineAndNotBefore) {
    std::array<poll_event, poll_batch> some;
    for (const auto time : {0us, 50us, 2'000us}) {
        const int64_t until = os::monotonic_ns() + std::chrono::nanoseconds(time).count();
        EXPECT_EQ(poller_->wait(some.data(), until), 0U);
        EXPECT_GE(os::monotonic_ns(), until);
    }
    EXPECT_EQ(poller_->wait(some.data(), long_ago), 0U) << "one that has passed is no wait";
}

TEST_F(AfdPollBackend, AnInterruptEndsTheCurrentOrNextWait) {
    std::array<poll_event, poll_batch> some;
    std::thread other([&] { poller_->interrupt(); });
    EXPECT_EQ(poller_->wait(some.data(), never), 0U);
    other.join();
    poller_->interrupt();
    EXPECT_EQ(poller_->wait(some.data(), 0), 0U);
    EXPECT_EQ(poller_->wait(some.data(), never), 0U) << "a look in passing does not use it up";
}

}  // namespace
}  // namespace weft::detail
