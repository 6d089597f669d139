// grpc_locks_test.cc: bugs of grpc-go in which a thread waits for a mutex.

#include <chrono>
#include <mutex>
#include <utility>

#include "corpus/program.h"

namespace weft::test {
namespace {

using namespace std::chrono_literals;

// grpc 795. A graceful stop may be requested several times. The first request returns with the lock
// held; the others lock where they should unlock.
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

// grpc 1353. New addresses are sent to the watcher with the lock held. The watcher is still
// processing the previous ones: it takes a connection down, which wants the lock.
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

    // The fixed version never waits: an update that was not received yet is out of date.
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

// grpc 1460. While there is no stream, the keepalive sleeps until it is woken, and keeps the lock.
// The thread that opens a stream, and would then wake the keepalive, needs the lock.
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

    const chan<token> wake_{buggy() ? 0U : 1U};  // the other half of the fix: room for an early wake-up
    mutex lock_;
    int streams_ = 0;     // guarded by lock_
    bool awake_ = false;  // the same
    moment asleep_{*this};
};

WEFT_BUG(Grpc1460, sleep_under_the_lock, {"keepalive", "chan receive"}, {"main", "mutex lock"});

// grpc 3017. A dropped connection stays in a cache for a while, until a timer removes it. Taking it
// out again stops the timer. The timer's function may already have been called and wait for the
// lock: it is told to do nothing, and does not even unlock.
class called_off_too_late : public program {
public:
    using program::program;

    void run() override {
        for (int i = 0; i < rounds; ++i) {
            drop();
            take();
            if (i == 0) called_.await();
        }
        timer_.stop();
    }

    void leave_locked() {
        cached_ = false;
        expire();
    }

    void check() override {
        EXPECT_EQ(reused_ + made_, rounds);
        EXPECT_EQ(removed_, made_);
        EXPECT_TRUE(is_free(lock_));
    }

private:
    static constexpr int rounds = 3;

    void drop() {
        const std::lock_guard hold(lock_);
        cached_ = true;
        const int number = ++number_;
        timer_ = after_func(20us, [this, number] {
            if (number == 1) calling_.come();
            expire(number);
            if (number == 1) called_.come();
        });
    }

    void take() {
        const std::lock_guard hold(lock_);
        calling_.await();
        ++(std::exchange(cached_, false) ? reused_ : made_);
        timer_.stop();
    }

    // The fix is to unlock on both paths.
    void expire(int number = 1) {
        std::unique_lock hold(lock_);
        if (!cached_ || number != number_) {
            if (buggy()) hold.release();
            return;
        }
        cached_ = false;
        ++removed_;
    }

    mutex lock_;
    // Guarded by lock_.
    bool cached_ = false;
    int number_ = 0;
    int reused_ = 0;
    int made_ = 0;
    int removed_ = 0;
    weft::timer timer_;
    moment calling_{*this};
    moment called_{*this};
};

WEFT_BUG(Grpc3017, called_off_too_late, {"main", "mutex lock"});
WEFT_MISSING_UNLOCK(Grpc3017, called_off_too_late);

}  // namespace
}  // namespace weft::test
