// poll_desc_test.cc: a descriptor's life, with a poller whose events the test generates.

#include "netpoll/poll_desc.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <map>
#include <memory>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "support/eventually.h"

namespace weft::detail {
namespace {

// A poller without events of its own.
class fake_backend final : public poll_backend {
public:
    int open() noexcept override { return 0; }

    int add(int fd, uint64_t token) noexcept override {
        if (fails != 0) return std::exchange(fails, 0);
        if (!added.emplace(fd, token).second) return EEXIST;
        return 0;
    }

    void remove(int fd) noexcept override { added.erase(fd); }

    uint32_t wait(poll_event*, int64_t) noexcept override { return 0; }

    void interrupt() noexcept override {}

    std::map<int, uint64_t> added;  // tokens by descriptor
    int fails = 0;                  // the next add fails with this error
};

bool file_is_open(int fd) { return ::fcntl(fd, F_GETFD) >= 0; }

class PollDesc : public ::testing::Test {
protected:
    PollDesc() {
        std::array<int, 2> ends{};
        EXPECT_EQ(::pipe2(ends.data(), O_NONBLOCK | O_CLOEXEC), 0);
        fd_ = ends[0];
        other_ = ends[1];
        desc_ = poll_desc::of(fd_);
        generation_ = desc_->open();
    }

    ~PollDesc() override {
        desc_->close(generation_);
        ::close(other_);
        poll_desc::abandon(poller_);
    }

    // Starts a thread that waits for an edge after those counted now. It may join the queue later.
    std::thread waiter(poll_side& side, std::atomic<int>& through) {
        const uint32_t seen = side.edges();
        std::thread t([&side, &through, seen] {
            EXPECT_EQ(side.wait_after(seen, wait_reason::fd_readable, never), wait_result::served);
            ++through;
        });
        return t;
    }

    static void happen(uint64_t token, uint32_t what) { ready_all(poll_desc::deliver({token, what})); }

    [[nodiscard]] uint64_t token() const { return poller_.added.at(fd_); }

    fake_backend poller_;
    poll_desc* desc_ = nullptr;
    uint32_t generation_ = 0;
    int fd_ = -1;
    int other_ = -1;
};

TEST_F(PollDesc, EachValidNumberHasItsOwn) {
    EXPECT_EQ(poll_desc::of(fd_), desc_);
    EXPECT_EQ(desc_->fd(), fd_);
    EXPECT_NE(poll_desc::of(fd_ + 1), desc_);
    EXPECT_EQ(poll_desc::of(-1), nullptr);
    EXPECT_EQ(poll_desc::of(1 << 30), nullptr);
}

TEST_F(PollDesc, AnEdgeBeforeTheWaitEndsIt) {
    ASSERT_EQ(desc_->add_to(poller_), 0);
    const uint32_t seen = desc_->in.edges();
    happen(token(), poll_bits::readable);
    EXPECT_NE(desc_->in.edges(), seen);
    EXPECT_EQ(desc_->in.wait_after(seen, wait_reason::fd_readable, never), wait_result::served);
}

TEST_F(PollDesc, EachDirectionHasItsOwnWaiters) {
    ASSERT_EQ(desc_->add_to(poller_), 0);
    const uint32_t in = desc_->in.edges();
    const uint32_t out = desc_->out.edges();
    happen(token(), poll_bits::readable);
    EXPECT_EQ(desc_->out.edges(), out);
    happen(token(), poll_bits::writable);
    EXPECT_EQ(desc_->in.edges(), in + poll_side::edge);
    happen(token(), poll_bits::hung_up);
    EXPECT_EQ(desc_->in.edges(), in + 2 * poll_side::edge);
    EXPECT_EQ(desc_->out.edges(), out + 2 * poll_side::edge);
}

TEST_F(PollDesc, AnEdgeWakesOneWaiterWhichWakesTheNext) {
    ASSERT_EQ(desc_->add_to(poller_), 0);
    std::atomic<int> through = 0;
    std::vector<std::thread> waiters;
    for (int i = 0; i < 3; ++i) waiters.push_back(waiter(desc_->in, through));
    test::eventually([&] { return desc_->in.waiters_for_test() == 3; });
    happen(token(), poll_bits::readable);
    test::eventually([&] { return through == 1; });
    EXPECT_EQ(desc_->in.waiters_for_test(), 2U);
    desc_->in.pass_on();
    test::eventually([&] { return through == 2; });
    desc_->in.pass_on();
    test::eventually([&] { return through == 3; });
    desc_->in.pass_on();
    for (std::thread& t : waiters) t.join();
}

TEST_F(PollDesc, CloseWakesAll) {
    std::atomic<int> through = 0;
    std::vector<std::thread> waiters;
    for (int i = 0; i < 3; ++i) waiters.push_back(waiter(desc_->in, through));
    waiters.push_back(waiter(desc_->out, through));
    test::eventually([&] { return desc_->in.waiters_for_test() == 3 && desc_->out.waiters_for_test() == 1; });
    EXPECT_TRUE(desc_->close(generation_));
    for (std::thread& t : waiters) t.join();
    EXPECT_FALSE(desc_->is_open(generation_));
    EXPECT_FALSE(desc_->close(generation_)) << "once";
    EXPECT_FALSE(file_is_open(fd_));
}

TEST_F(PollDesc, TheLastUserClosesTheFile) {
    ASSERT_EQ(desc_->add_to(poller_), 0);
    ASSERT_TRUE(desc_->enter(generation_));
    ASSERT_TRUE(desc_->enter(generation_));
    EXPECT_TRUE(desc_->close(generation_));
    EXPECT_FALSE(desc_->enter(generation_));
    EXPECT_TRUE(file_is_open(fd_));
    desc_->leave();
    EXPECT_TRUE(file_is_open(fd_));
    EXPECT_EQ(poller_.added.size(), 1U);
    desc_->leave();
    EXPECT_FALSE(file_is_open(fd_));
    EXPECT_TRUE(poller_.added.empty());
    EXPECT_FALSE(desc_->enter(generation_));
}

// The number is reused at once.
TEST_F(PollDesc, ALateEventOfThePreviousFileIsDropped) {
    ASSERT_EQ(desc_->add_to(poller_), 0);
    const uint64_t old = token();
    desc_->close(generation_);
    ASSERT_EQ(::dup2(other_, fd_), fd_);
    const uint32_t before = generation_;
    generation_ = desc_->open();
    EXPECT_NE(generation_, before);
    EXPECT_FALSE(desc_->enter(before));
    EXPECT_TRUE(desc_->enter(generation_)) << "and that has not hurt it";
    desc_->leave();
    ASSERT_EQ(desc_->add_to(poller_), 0);
    const uint32_t in = desc_->in.edges();
    happen(old, poll_bits::readable | poll_bits::hung_up);
    EXPECT_EQ(desc_->in.edges(), in);
    EXPECT_FALSE(desc_->close(before));
    EXPECT_TRUE(desc_->is_open(generation_));
    happen(token(), poll_bits::readable);
    EXPECT_EQ(desc_->in.edges(), in + poll_side::edge);
}

TEST_F(PollDesc, StaysDrainedUntilTheNextEdge) {
    ASSERT_EQ(desc_->add_to(poller_), 0);
    const uint32_t seen = desc_->in.edges();
    EXPECT_FALSE(desc_->in.is_drained(seen));
    desc_->in.set_drained(seen);
    EXPECT_TRUE(desc_->in.is_drained(seen));
    happen(token(), poll_bits::readable);
    EXPECT_FALSE(desc_->in.is_drained(desc_->in.edges()));
    happen(token(), poll_bits::hung_up);
    desc_->in.set_drained(desc_->in.edges());
    EXPECT_FALSE(desc_->in.is_drained(desc_->in.edges())) << "the end is still to be read";
}

TEST_F(PollDesc, ANewDeadlineKeepsTheDrainedState) {
    ASSERT_EQ(desc_->add_to(poller_), 0);
    desc_->in.set_drained(desc_->in.edges());
    desc_->look_again(desc_->in, generation_);
    EXPECT_TRUE(desc_->in.is_drained(desc_->in.edges()));

    desc_->nudge(desc_->in, generation_);
    EXPECT_FALSE(desc_->in.is_drained(desc_->in.edges())) << "something has happened to the file";

    const uint32_t before = desc_->in.edges();
    desc_->in.set_drained(before);
    happen(token(), poll_bits::readable);
    desc_->look_again(desc_->in, generation_);
    EXPECT_FALSE(desc_->in.is_drained(desc_->in.edges())) << "there is something since";
}

TEST_F(PollDesc, IsAddedToOnePollerOnceAndReturnsErrors) {
    poller_.fails = ENOSPC;
    EXPECT_EQ(desc_->add_to(poller_), ENOSPC);
    EXPECT_EQ(desc_->home(), nullptr);
    EXPECT_EQ(desc_->add_to(poller_), 0);
    EXPECT_EQ(desc_->add_to(poller_), 0);
    fake_backend another;
    EXPECT_EQ(desc_->add_to(another), 0);
    EXPECT_TRUE(another.added.empty()) << "it has a home";
}

// An earlier file with this number lives on elsewhere.
TEST_F(PollDesc, AStalePollerEntryIsReplaced) {
    poller_.added[fd_] = 12345;
    EXPECT_EQ(desc_->add_to(poller_), 0);
    EXPECT_NE(token(), 12345U);
}

TEST_F(PollDesc, APollerThatEndsReleasesItsDescriptors) {
    ASSERT_EQ(desc_->add_to(poller_), 0);
    std::atomic<int> through = 0;
    std::thread t = waiter(desc_->in, through);
    test::eventually([&] { return desc_->in.waiters_for_test() == 1; });
    poll_desc::abandon(poller_);
    t.join();
    EXPECT_EQ(desc_->home(), nullptr);
    fake_backend another;
    EXPECT_EQ(desc_->add_to(another), 0);
    EXPECT_EQ(another.added.size(), 1U);
    poll_desc::abandon(another);
}

TEST_F(PollDesc, ADetachedFileStaysOpen) {
    ASSERT_EQ(desc_->add_to(poller_), 0);
    ASSERT_TRUE(desc_->enter(generation_));
    EXPECT_EQ(desc_->detach(generation_), -1) << "it is used";
    desc_->leave();
    EXPECT_EQ(desc_->detach(generation_), fd_);
    EXPECT_TRUE(poller_.added.empty());
    EXPECT_FALSE(desc_->enter(generation_));
    EXPECT_FALSE(desc_->close(generation_));
    EXPECT_TRUE(file_is_open(fd_));
    generation_ = desc_->open();
}

// Late calls on a closed socket must not count as users of the next one of its number.
TEST_F(PollDesc, ARefusedCallDoesNotCountAsAUser) {
    const uint32_t closed = generation_;
    EXPECT_EQ(desc_->detach(closed), fd_);
    constexpr int late_calls = 3'000'000;  // longer than the system lets one of two threads run alone
    std::atomic<bool> over = false;
    std::thread late([&] {
        for (int i = 0; i < late_calls; ++i) EXPECT_FALSE(desc_->enter(closed));
        over = true;
    });
    bool refused = false;
    while (!over && !refused) {
        generation_ = desc_->open();
        refused = desc_->detach(generation_) != fd_;
    }
    late.join();
    EXPECT_FALSE(refused) << "nobody used it";
    generation_ = desc_->open();
}

TEST_F(PollDesc, ABorrowedFileIsNotClosed) {
    poll_desc* d = poll_desc::of(other_);
    const uint32_t first = d->borrow();
    const uint32_t second = d->borrow();
    EXPECT_NE(first, 0U);
    EXPECT_EQ(first, second) << "two who wait for it at a time";
    ASSERT_EQ(d->add_to(poller_), 0);
    d->leave();
    EXPECT_EQ(poller_.added.size(), 1U);
    d->leave();
    EXPECT_TRUE(poller_.added.empty());
    EXPECT_TRUE(file_is_open(other_));
    const uint32_t third = d->borrow();
    EXPECT_NE(third, first);
    d->leave();
}

// The owner has closed it without notice, and a new file has its number.
TEST_F(PollDesc, OpeningEndsABorrowOfTheNumber) {
    poll_desc* d = poll_desc::of(other_);
    const uint32_t borrowed = d->borrow();
    std::atomic<int> through = 0;
    std::thread t = waiter(d->out, through);
    test::eventually([&] { return d->out.waiters_for_test() == 1; });
    const uint32_t opened = d->open();
    t.join();
    EXPECT_FALSE(d->is_open(borrowed));
    d->leave();  // the borrower's
    EXPECT_TRUE(d->is_open(opened));
    EXPECT_TRUE(file_is_open(other_));
    EXPECT_EQ(d->detach(opened), other_);
}

// A borrower added the file before its opener called open().
TEST_F(PollDesc, OpeningRemovesThePollerEntryOfABorrower) {
    poll_desc* d = poll_desc::of(other_);
    ASSERT_NE(d->borrow(), 0U);
    ASSERT_EQ(d->add_to(poller_), 0);
    const uint32_t opened = d->open();
    EXPECT_TRUE(poller_.added.empty());
    d->leave();  // the borrower's
    EXPECT_EQ(d->detach(opened), other_);
}

TEST_F(PollDesc, ATimedOutWaiterLeavesTheQueue) {
    EXPECT_EQ(desc_->in.wait_after(desc_->in.edges(), wait_reason::fd_readable, now_ns() + 1'000'000),
              wait_result::timed_out);
    EXPECT_EQ(desc_->in.waiters_for_test(), 0U);
    desc_->in.pass_on();
}

// Numbers are reused at once.
TEST_F(PollDesc, ReusedNumbersRefuseNoUser) {
    std::atomic<int> refused = 0;
    std::vector<std::thread> users;
    std::atomic<bool> over = false;
    std::atomic<uint64_t> current = 0;  // generation << 32 | fd + 1
    for (int i = 0; i < 2; ++i) {
        users.emplace_back([&] {
            while (!over) {
                const uint64_t now = current;
                if (now == 0) continue;
                poll_desc* d = poll_desc::of(static_cast<int>(now & 0xffffffff) - 1);
                if (!d->enter(static_cast<uint32_t>(now >> 32))) {
                    ++refused;
                    continue;
                }
                EXPECT_TRUE(file_is_open(d->fd())) << "while somebody uses it";
                d->leave();
            }
        });
    }
    for (int i = 0; i < 2'000; ++i) {
        const int fd = ::dup(fd_);
        ASSERT_GE(fd, 0);
        poll_desc* d = poll_desc::of(fd);
        const uint32_t generation = d->open();
        current = uint64_t{generation} << 32 | static_cast<uint32_t>(fd + 1);
        if (i % 7 == 0) std::this_thread::yield();
        EXPECT_TRUE(d->close(generation));
    }
    over = true;
    for (std::thread& t : users) t.join();
}

}  // namespace
}  // namespace weft::detail
