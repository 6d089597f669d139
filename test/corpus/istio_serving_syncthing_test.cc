// istio_serving_syncthing_test.cc: bugs of Istio, Knative Serving and Syncthing.

#include <atomic>
#include <chrono>
#include <cstddef>
#include <mutex>
#include <optional>
#include <set>
#include <shared_mutex>
#include <utility>

#include "corpus/program.h"

namespace weft::test {
namespace {

using namespace std::chrono_literals;

// istio 16224. A handler reports through a channel what it has seen, with the lock held. The
// receiver of the report takes the lock first.
class report_under_the_lock : public program {
public:
    using program::program;

    void run() override {
        start("monitor", [this] {
            for (const int event : events_) handle(event);
        });
        events_.send(4);
        events_.close();
        handling_.await();
        {
            const std::lock_guard hold(lock_);
            ++looked_;
        }
        reports_.recv();
    }

    void check() override {
        EXPECT_EQ(sum_, 4);
        EXPECT_EQ(looked_, 1);
        EXPECT_TRUE(is_free(lock_));
    }

private:
    void handle(int event) {
        std::unique_lock hold(lock_);
        sum_ += event;
        handling_.come();
        if (!buggy()) hold.unlock();
        reports_.send(token{});
    }

    const chan<int> events_;
    const chan<token> reports_;
    mutex lock_;
    int sum_ = 0;     // guarded by lock_
    int looked_ = 0;  // the same
    moment handling_{*this};
};

WEFT_BUG(Istio16224, report_under_the_lock, {"main", "mutex lock"}, {"monitor", "chan send"});

// istio 17860. An agent takes the exit status of each epoch of its process, and ends when no epoch
// is active. The process is then restarted, and its status is never taken.
class restarted_after_the_end : public program {
public:
    using program::program;

    void run() override {
        start("agent", [this] { take_statuses(); });
        restart();
        if (forced()) ended_.recv();
        restart();
        if (!forced()) ended_.recv();
    }

    void check() override {
        EXPECT_EQ(taken_ + refused_, 2);
        EXPECT_GE(taken_, 1);
    }

private:
    void restart() {
        const std::lock_guard hold(lock_);
        active_.insert(++epoch_);
        start("epoch", [this, epoch = epoch_] {
            if (buggy()) {
                statuses_.send(epoch);
            } else {
                weft::select(on_send(statuses_, epoch, [] {}),
                             on_recv(ended_, [this](auto) { refused_.fetch_add(1); }));
            }
        });
    }

    void take_statuses() {
        for (bool any = true; any;) {
            const int epoch = *statuses_.recv();
            const std::lock_guard hold(lock_);
            ++taken_;
            active_.erase(epoch);
            any = !active_.empty();
        }
        ended_.close();
    }

    const chan<int> statuses_;
    const chan<token> ended_;
    mutex lock_;
    std::set<int> active_;  // guarded by lock_
    int epoch_ = 0;         // the same
    int taken_ = 0;         // the same
    std::atomic<int> refused_ = 0;
};

WEFT_BUG(Istio17860, restarted_after_the_end, {"epoch", "chan send"});

// istio 18454. A change restarts a timer. To discard an old tick, the loop receives it if the timer
// had fired, but the loop has already received it. So the loop blocks for ever, and so do the
// senders of changes once the channel is full.
class tick_received_twice : public program {
public:
    using program::program;

    void run() override {
        timer_ = weft::timer(10us);
        start("pacer", [this] { pace(); });
        ticked_.await();
        for (int i = 0; i < changes; ++i) changes_.send(token{});
        changes_.close();
    }

    void check() override {
        EXPECT_EQ(seen_, changes);
        EXPECT_GE(ticks_, forced() ? 1 : 0);
        EXPECT_FALSE(timer_.stop());
    }

private:
    static constexpr int changes = 3;

    void pace() {
        for (bool over = false; !over;) {
            weft::select(on_recv(timer_.chan(),
                                 [this](auto) {
                                     if (++ticks_ == 1) ticked_.come();
                                 }),
                         on_recv(changes_, [&](std::optional<token> change) {
                             over = !change.has_value();
                             const bool prevented = timer_.stop();
                             if (over) return;
                             ++seen_;
                             if (buggy() && !prevented) timer_.chan().recv();
                             timer_.reset(10us);
                         }));
        }
    }

    weft::timer timer_;
    const chan<token> changes_{1};
    int ticks_ = 0;
    int seen_ = 0;
    moment ticked_{*this};
};

WEFT_BUG(Istio18454, tick_received_twice, {"main", "chan send"}, {"pacer", "chan receive"});

// serving 2137. One of two requests may be active, the other has to queue. Each is held up by its
// own lock, and they are released one after the other, waiting for each. The first to be released
// queues behind the second, which is not released.
class let_go_one_by_one : public program {
public:
    using program::program;

    void run() override {
        for (request& r : requests_) {
            r.lock.lock();
            start(&r == &requests_[0] ? "first" : "second", [this, &r] { serve(r); });
        }
        if (!buggy()) {
            for (request& r : requests_) r.lock.unlock();
        }
        for (request& r : requests_) {
            if (buggy()) r.lock.unlock();
            served_ += r.accepted.recv() == true ? 1 : 0;
        }
    }

    void check() override {
        EXPECT_EQ(served_, 2);
        EXPECT_EQ(active_.len(), 0U);
        for (request& r : requests_) EXPECT_TRUE(is_free(r.lock));
    }

private:
    struct request {
        mutex lock;
        chan<bool> accepted{1};
    };

    void serve(request& r) {
        if (&r == &requests_[0]) second_is_active_.await();
        active_.send(token{});
        if (&r == &requests_[1]) second_is_active_.come();
        { const std::lock_guard hold(r.lock); }
        active_.recv();
        r.accepted.send(true);
    }

    const chan<token> active_{1};
    request requests_[2];
    int served_ = 0;
    moment second_is_active_{*this};
};

WEFT_BUG(Serving2137, let_go_one_by_one, {"first", "chan send"}, {"main", "chan receive"}, {"second", "mutex lock"});

// syncthing 4829. Removing a mapping locks it and clears its addresses. If there were any,
// subscribers are notified by a function that reads the addresses, and so takes the lock.
class clearing_tells : public program {
public:
    using program::program;

    void run() override {
        clear();
        {
            const std::lock_guard hold(lock_);
            addresses_ = 2;
        }
        clear();
    }

    void check() override {
        EXPECT_EQ(told_, 2);
        EXPECT_TRUE(is_free(lock_));
    }

private:
    void clear() {
        std::unique_lock hold(lock_);
        const int removed = std::exchange(addresses_, 0);
        if (!buggy()) hold.unlock();
        if (removed != 0) tell(removed);
    }

    void tell(int removed) {
        const std::shared_lock hold(lock_);
        told_ = removed - addresses_;
    }

    shared_mutex lock_;
    int addresses_ = 0;  // how many; guarded by lock_
    int told_ = 0;
};

WEFT_BUG(Syncthing4829, clearing_tells, {"main", "shared mutex lock shared"});

// syncthing 5795. The dispatcher of a connection calls the model for each message. The model closes
// the connection, which waits for the dispatcher to end.
class closed_by_its_own_dispatcher : public program {
public:
    using program::program;

    void run() override {
        start("dispatcher", [this] { dispatch(); });
        inbox_.send(1);
        dispatcher_ended_.recv();
    }

    void check() override {
        EXPECT_EQ(handled_, 1);
        EXPECT_EQ(closes_, 1);
    }

private:
    void dispatch() {
        for (bool over = false; !over;) {
            bool got = false;
            weft::select(on_recv(inbox_, [&](auto) { got = true; }), on_recv(closed_, [&](auto) { over = true; }));
            if (got) handle();
        }
        dispatcher_ended_.close();
    }

    void handle() {
        ++handled_;
        if (buggy()) {
            close();
        } else {
            start("closer", [this] { close(); });
        }
    }

    void close() {
        closed_.close();
        dispatcher_ended_.recv();
        ++closes_;
    }

    const chan<int> inbox_;
    const chan<token> closed_;
    const chan<token> dispatcher_ended_;
    int handled_ = 0;
    int closes_ = 0;
};

WEFT_BUG(Syncthing5795, closed_by_its_own_dispatcher, {"dispatcher", "chan receive"}, {"main", "chan receive"});

}  // namespace
}  // namespace weft::test
