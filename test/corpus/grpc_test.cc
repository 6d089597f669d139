// grpc_test.cc: bugs of grpc-go's.

#include <atomic>
#include <chrono>
#include <cstddef>
#include <mutex>
#include <optional>
#include <stop_token>
#include <vector>

#include "corpus/program.h"

namespace weft::test {
namespace {

using namespace std::chrono_literals;

// grpc 660. Each call is made by a green thread of its own, which reports when it is done. The loop that makes them is stopped instead of
// taking the report.
class stopped_before_the_report : public program {
public:
    using program::program;

    void run() override {
        start("loop", [this] { call_until_stopped(); });
        stopping_.send(token{});
        left_.come();
    }

    void check() override { EXPECT_EQ(reported_, made_); }

private:
    void call_until_stopped() {
        for (bool stopped = false; !stopped;) {
            ++made_;
            const chan<bool>& done = buggy() ? unbuffered_ : buffered_;
            start("call", [this, &done] {
                left_.await();
                done.send(true);
                ++reported_;
            });
            weft::select(on_recv(done, [](auto) {}), on_recv(stopping_, [&](auto) { stopped = true; }));
        }
    }

    const chan<bool> unbuffered_;
    const chan<bool> buffered_{1};  // room for the report that nobody waits for: the fix
    const chan<token> stopping_;
    int made_ = 0;
    std::atomic<int> reported_ = 0;
    moment left_{*this};
};

WEFT_BUG(Grpc660, stopped_before_the_report, {"call", "chan send"});

// grpc 795. A graceful stop may be asked for several times. The first leaves with the lock held; the others lock where they mean to unlock.
class stop_twice : public program {
public:
    using program::program;

    void run() override {
        for (int i = 0; i < 3; ++i) stop();
        serve();
    }

    void leave_locked() { stop(); }

    void check() override {
        EXPECT_EQ(stops_, 3);
        EXPECT_EQ(served_, 0);
        EXPECT_TRUE(is_free(lock_));
    }

private:
    void stop() {
        lock_.lock();
        ++stops_;
        if (draining_) {
            buggy() ? lock_.lock() : lock_.unlock();
            return;
        }
        draining_ = true;
        if (!buggy()) lock_.unlock();
    }

    void serve() {
        const std::lock_guard hold(lock_);
        served_ += draining_ ? 0 : 1;
    }

    mutex lock_;
    bool draining_ = false;
    int stops_ = 0;
    int served_ = 0;
};

WEFT_BUG(Grpc795, stop_twice, {"main", "mutex lock"});
WEFT_MISSING_UNLOCK(Grpc795, stop_twice);

// grpc 862. Dialling starts a green thread that connects again and again. The caller gives up meanwhile, so there is no connection to return, and
// nobody who could close it.
class dial_given_up : public program {
public:
    using program::program;

    void run() override {
        std::stop_source caller;
        caller.request_stop();
        with_stop_token(caller.get_token(), [this] { dial(); });
    }

    void check() override {
        EXPECT_GE(tried_, 1);
        EXPECT_EQ(closed_, 1);
    }

private:
    void dial() {
        start("connector", [this] { with_stop_token(connection_.get_token(), [this] { connect(); }); });
        try {
            connected_.recv();
        } catch (const cancelled&) {
            if (!buggy()) connection_.request_stop();
        }
    }

    void connect() {
        for (bool closed = false; !closed;) {
            ++tried_;
            // The next attempt; the network says when. Nobody answers.
            weft::select(on_recv(retry_, [](auto) {}), on_cancel([&] { closed = true; }));
        }
        ++closed_;
    }

    const chan<token> connected_;
    const chan<token> retry_;
    std::stop_source connection_ = kept_for_ever(std::stop_source());
    int tried_ = 0;
    int closed_ = 0;
};

WEFT_BUG(Grpc862, dial_given_up, {"connector", "select"});

// grpc 1275. Who reads from a stream waits for data. Closing the stream ought to wake him with an empty message, and does not; whoever closed it
// gives up waiting for him.
class closed_without_a_word : public program {
public:
    using program::program;

    void run() override {
        start("reader", [this] {
            read_ = data_.recv();
            done_.close();
        });
        if (!buggy()) data_.send({});
        weft::select(on_recv(done_, [](auto) {}), on_timeout(buggy() ? 1ms : 1h, [this] { gave_up_ = true; }));
    }

    void check() override {
        EXPECT_TRUE(read_.has_value() && read_->empty());
        EXPECT_FALSE(gave_up_);
    }

private:
    const chan<std::vector<char>> data_;
    const chan<token> done_;
    std::optional<std::vector<char>> read_;
    bool gave_up_ = false;
};

WEFT_BUG(Grpc1275, closed_without_a_word, {"reader", "chan receive"});

// grpc 1353. New addresses are sent to the watcher with the lock held. The watcher, still at the last ones, takes a connection down, which wants the
// lock.
class update_under_the_lock : public program {
public:
    using program::program;

    void run() override {
        start("watcher", [this] { watch(); });
        for (int i = 0; i < updates; ++i) update(i);
        addresses_.close();
        watched_.wait();
    }

    void check() override {
        EXPECT_EQ(last_, updates - 1);
        EXPECT_GE(downs_, 1);
        EXPECT_TRUE(is_free(lock_));
    }

private:
    static constexpr int updates = 5;

    // The fixed one never waits: an update that nobody has taken is out of date.
    void update(int number) {
        const std::lock_guard hold(lock_);
        if (number == 1) updating_.come();
        if (buggy()) {
            addresses_.send(number);
        } else {
            (void)addresses_.try_recv();
            EXPECT_EQ(addresses_.try_send(int{number}), chan_status::ok);
        }
    }

    void watch() {
        for (const int number : addresses_) {
            if (number == 0) updating_.await();
            const std::lock_guard hold(lock_);
            ++downs_;
            last_ = number;
        }
        watched_.done();
    }

    const chan<int> addresses_{buggy() ? 0U : 1U};
    mutex lock_;
    int downs_ = 0;  // guarded by lock_
    int last_ = -1;  // the same

    group_of watched_{1};
    moment updating_{*this};
};

WEFT_BUG(Grpc1353, update_under_the_lock, {"main", "chan send"}, {"watcher", "mutex lock"});

// grpc 1424. A watcher is to close a channel when it ends. It ends when its own channel is closed, and does not.
class end_not_reported : public program {
public:
    using program::program;

    void run() override {
        start("dialler", [this] {
            start("watcher", [this] {
                for (const int address : addresses_) last_ = address;
                if (!buggy()) done_.close();
            });
            done_.recv();
            ++dialled_;
        });
        addresses_.send(7);
        addresses_.close();
    }

    void check() override {
        EXPECT_EQ(last_, 7);
        EXPECT_EQ(dialled_, 1);
    }

private:
    const chan<int> addresses_;
    const chan<token> done_;
    int last_ = 0;
    int dialled_ = 0;
};

WEFT_BUG(Grpc1424, end_not_reported, {"dialler", "chan receive"});

// grpc 1460. While there is no stream, the keepalive sleeps until it is woken, and keeps the lock. Who opens a stream needs the lock, and
// would wake it then.
class sleep_under_the_lock : public program {
public:
    using program::program;

    void run() override {
        start("keepalive", [this] { keep_alive(); });
        asleep_.await();
        open_stream();
    }

    void check() override {
        EXPECT_EQ(streams_, 1);
        EXPECT_TRUE(awake_);
        EXPECT_TRUE(is_free(lock_));
    }

private:
    void keep_alive() {
        std::unique_lock hold(lock_);
        if (streams_ == 0) {
            asleep_.come();
            if (!buggy()) hold.unlock();
            wake_.recv();
            if (!buggy()) hold.lock();
        }
        awake_ = true;
    }

    void open_stream() {
        const std::lock_guard hold(lock_);
        if (++streams_ == 1) (void)wake_.try_send(token{});
    }

    const chan<token> wake_{buggy() ? 0U : 1U};  // with room for a wake-up that comes early: the other half of the fix
    mutex lock_;
    int streams_ = 0;     // guarded by lock_
    bool awake_ = false;  // the same
    moment asleep_{*this};
};

WEFT_BUG(Grpc1460, sleep_under_the_lock, {"keepalive", "chan receive"}, {"main", "mutex lock"});

}  // namespace
}  // namespace weft::test
