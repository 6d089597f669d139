// backend_test.cc: the contract of backend.h, on this system and on kqueue's with a fake kevent().

#include "poll/backend.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <weft/detail/wait.h>

#include "os/os.h"
#include "poll/kqueue.h"

namespace weft::detail {
namespace {

using namespace std::chrono_literals;

struct kind {
    const char* name;
    std::unique_ptr<poll_backend> (*make)();
};

class PollBackend : public ::testing::TestWithParam<kind> {
protected:
    PollBackend() : poller_(GetParam().make()) {
        EXPECT_EQ(poller_->open(), 0);
        EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends_.data()), 0);
    }

    ~PollBackend() override {
        for (const int fd : ends_) {
            if (fd >= 0) ::close(fd);
        }
    }

    void send(const std::string& text) const {
        EXPECT_EQ(::write(ends_[1], text.data(), text.size()), static_cast<ssize_t>(text.size()));
    }

    [[nodiscard]] std::string receive(std::size_t most = 100) const {
        std::string text(most, ' ');
        const ssize_t count = ::read(ends_[0], text.data(), text.size());
        return count < 0 ? "nothing" : text.substr(0, static_cast<std::size_t>(count));
    }

    // The events of each token, merged.
    std::vector<poll_event> events(int64_t deadline_ns = 0) {
        std::array<poll_event, poll_batch> some;
        const uint32_t count = poller_->wait(some.data(), deadline_ns);
        std::vector<poll_event> merged;
        for (const poll_event& e : std::span(some).first(count)) {
            const auto same =
                std::find_if(merged.begin(), merged.end(), [&](const poll_event& m) { return m.token == e.token; });
            if (same == merged.end()) {
                merged.push_back(e);
            } else {
                same->what |= e.what;
            }
        }
        return merged;
    }

    void add_and_forget(uint64_t token = 7) {
        ASSERT_EQ(poller_->add(ends_[0], token), 0);
        static_cast<void>(events());  // the initial writable event
    }

    std::unique_ptr<poll_backend> poller_;
    std::array<int, 2> ends_{-1, -1};
};

TEST_P(PollBackend, AddReportsTheCurrentReadiness) {
    send("x");
    ASSERT_EQ(poller_->add(ends_[0], 7), 0);
    const auto seen = events();
    ASSERT_EQ(seen.size(), 1U);
    EXPECT_EQ(seen[0].token, 7U);
    EXPECT_EQ(seen[0].what, poll_bits::readable | poll_bits::writable);
}

TEST_P(PollBackend, ReportsOneEventForEachChange) {
    add_and_forget();
    EXPECT_TRUE(events().empty());
    send("one");
    ASSERT_EQ(events().size(), 1U);
    EXPECT_TRUE(events().empty()) << "although nobody has read it";
    send("two");
    ASSERT_EQ(events().size(), 1U) << "more has come";
    EXPECT_EQ(receive(), "onetwo");
    EXPECT_TRUE(events().empty());
}

TEST_P(PollBackend, UnreadBytesCauseNoFurtherEvent) {
    add_and_forget();
    send("abc");
    EXPECT_EQ(events().size(), 1U);
    EXPECT_EQ(receive(1), "a");
    EXPECT_TRUE(events().empty());
    EXPECT_EQ(receive(), "bc");
}

TEST_P(PollBackend, ReportsWritableAfterThePeerReads) {
    add_and_forget();
    const std::string much(1 << 16, 'x');
    while (::write(ends_[0], much.data(), much.size()) > 0) {}
    ASSERT_EQ(errno, EAGAIN);
    static_cast<void>(events());
    EXPECT_TRUE(events().empty());
    std::string got(1 << 20, ' ');
    while (::read(ends_[1], got.data(), got.size()) > 0) {}
    const auto seen = events();
    ASSERT_FALSE(seen.empty());
    EXPECT_NE(seen[0].what & poll_bits::writable, 0U);
}

TEST_P(PollBackend, ReportsAHangUpOfThePeer) {
    add_and_forget();
    ::shutdown(ends_[1], SHUT_WR);
    auto seen = events();
    ASSERT_EQ(seen.size(), 1U);
    EXPECT_NE(seen[0].what & poll_bits::hung_up, 0U);
    EXPECT_EQ(receive(), "");
    ::close(ends_[1]);
    ends_[1] = -1;
    seen = events();
    ASSERT_EQ(seen.size(), 1U);
    EXPECT_NE(seen[0].what & poll_bits::hung_up, 0U);
}

TEST_P(PollBackend, ARemovedDescriptorCausesNoEvents) {
    add_and_forget();
    send("x");
    poller_->remove(ends_[0]);
    EXPECT_TRUE(events().empty());
    poller_->remove(ends_[0]);
    ASSERT_EQ(poller_->add(ends_[0], 8), 0);
    const auto seen = events();
    ASSERT_EQ(seen.size(), 1U);
    EXPECT_EQ(seen[0].token, 8U);
}

TEST_P(PollBackend, AddReturnsItsError) {
    add_and_forget();
    EXPECT_EQ(poller_->add(ends_[0], 8), EEXIST);
    EXPECT_EQ(poller_->add(-1, 8), EBADF);
    char name[] = "/tmp/weft-poll-XXXXXX";
    const int file = ::mkstemp(name);
    ASSERT_GE(file, 0);
    ::unlink(name);
    EXPECT_EQ(poller_->add(file, 8), EPERM) << "a regular file is always ready";
    ::close(file);
}

TEST_P(PollBackend, AWaitEndsAtItsDeadlineAndNotBefore) {
    for (const auto time : {0us, 50us, 2'000us}) {
        const int64_t until = os::monotonic_ns() + std::chrono::nanoseconds(time).count();
        EXPECT_TRUE(events(until).empty());
        EXPECT_GE(os::monotonic_ns(), until);
    }
    EXPECT_TRUE(events(long_ago).empty()) << "one that has passed is no wait";
}

TEST_P(PollBackend, AnEventEndsAWait) {
    add_and_forget();
    std::thread other([&] {
        std::this_thread::sleep_for(2ms);  // usually enough for the wait to begin
        send("x");
    });
    EXPECT_EQ(events(never).size(), 1U);
    other.join();
}

TEST_P(PollBackend, AnInterruptEndsTheCurrentOrNextWait) {
    std::thread other([&] {
        std::this_thread::sleep_for(2ms);  // as above
        poller_->interrupt();
    });
    EXPECT_TRUE(events(never).empty());
    other.join();
    poller_->interrupt();
    poller_->interrupt();
    EXPECT_TRUE(events(0).empty());
    EXPECT_TRUE(events(never).empty()) << "a look in passing does not use it up";
    const int64_t until = os::monotonic_ns() + 1'000'000;
    EXPECT_TRUE(events(until).empty());
    EXPECT_GE(os::monotonic_ns(), until) << "two were one";
}

TEST_P(PollBackend, MoreEventsThanABatchArriveInSeveral) {
    constexpr int count = static_cast<int>(poll_batch) + 10;
    std::vector<std::array<int, 2>> pairs(count);
    for (int i = 0; i < count; ++i) {
        ASSERT_EQ(::pipe2(pairs[static_cast<std::size_t>(i)].data(), O_NONBLOCK | O_CLOEXEC), 0);
        ASSERT_EQ(poller_->add(pairs[static_cast<std::size_t>(i)][1], static_cast<uint64_t>(i)), 0);
    }
    std::vector<bool> seen(count);
    std::size_t all = 0;
    for (int look = 0; look < 3; ++look) {
        for (const poll_event& e : events()) {
            all += 1;
            seen[e.token] = true;
        }
    }
    EXPECT_EQ(all, static_cast<std::size_t>(count));
    EXPECT_EQ(std::count(seen.begin(), seen.end(), false), 0);
    for (const auto& p : pairs) {
        ::close(p[0]);
        ::close(p[1]);
    }
}

TEST(KqueueBackend, AQueueIsWatchedForReading) {
    kqueue_backend poller;
    ASSERT_EQ(poller.open(), 0);
    const int queue = ::kqueue();
    struct kevent e{};
    EV_SET(&e, 0, EVFILT_USER, EV_ADD | EV_CLEAR, 0, 0, nullptr);
    ASSERT_EQ(::kevent(queue, &e, 1, nullptr, 0, nullptr), 0);
    ASSERT_EQ(poller.add(queue, 7), 0) << "although it cannot be watched for writing";
    std::array<poll_event, poll_batch> seen;
    EXPECT_EQ(poller.wait(seen.data(), 0), 0U);
    EV_SET(&e, 0, EVFILT_USER, 0, NOTE_TRIGGER, 0, nullptr);
    ASSERT_EQ(::kevent(queue, &e, 1, nullptr, 0, nullptr), 0);
    ASSERT_EQ(poller.wait(seen.data(), 0), 1U);
    EXPECT_EQ(seen[0].token, 7U);
    EXPECT_EQ(seen[0].what, poll_bits::readable);
    poller.remove(queue);
    ::close(queue);
}

INSTANTIATE_TEST_SUITE_P(Of,
                         PollBackend,
                         ::testing::Values(kind{"system", [] { return make_poll_backend(); }},
                                           kind{"kqueue",
                                                [] { return std::unique_ptr<poll_backend>(new kqueue_backend); }}),
                         [](const auto& of) { return of.param.name; });

}  // namespace
}  // namespace weft::detail
