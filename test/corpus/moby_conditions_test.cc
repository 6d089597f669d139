// moby_conditions_test.cc: bugs of Moby in which a thread waits for a condition.

#include <mutex>
#include <system_error>

#include "corpus/program.h"

namespace weft::test {
namespace {

// moby 27782. The follower of a file takes its events until it must end. Then it has the file
// removed from the watched ones, and waits for the reader of events to confirm. The reader has
// another event to deliver to the follower first.
class confirmation_after_the_event : public program {
public:
    using program::program;

    void run() override {
        start("follower", [this] { follow(); });
        start("reader", [this] { read(); });
        closed_.close();
    }

    void check() override {
        EXPECT_EQ(ended_, 2);
        EXPECT_FALSE(watched_);
        EXPECT_TRUE(is_free(lock_));
    }

private:
    void follow() {
        for (bool closed = false; !closed;) {
            weft::select(on_recv(events_, [](auto) {}), on_recv(closed_, [&](auto) { closed = true; }));
        }
        ending_.come();
        remove();
        done_.close();
        ended_.fetch_add(1);
    }

    // The fixed version does not wait for the confirmation, which has no use.
    void remove() {
        std::unique_lock hold(lock_);
        if (buggy()) removed_.wait(hold, [this] { return !watched_; });
        watched_ = false;
    }

    void read() {
        ending_.await();
        for (const event e : {event::written, event::written, event::removed}) {
            bool done = false;
            if (e == event::written) {
                weft::select(on_send(events_, e, [] {}), on_recv(done_, [&](auto) { done = true; }));
            } else {
                const std::lock_guard hold(lock_);
                watched_ = false;
                removed_.notify_all();
            }
            if (done) break;
        }
        ended_.fetch_add(1);
    }

    enum class event { written, removed };

    const chan<event> events_;
    const chan<token> closed_;
    const chan<token> done_;
    mutex lock_;
    condition_variable removed_;
    bool watched_ = true;  // guarded by lock_
    std::atomic<int> ended_ = 0;
    moment ending_{*this};
};

WEFT_BUG(Moby27782, confirmation_after_the_event, {"follower", "condition wait"}, {"reader", "select"});

// moby 29733. Callers wait until plugins are active. Registering a new kind of handler makes all
// plugins inactive, so that they are activated again. But no code that also notifies the waiters
// activates them.
class made_inactive_for_good : public program {
public:
    using program::program;

    void run() override {
        set_active(true);
        wait_beside();
        handle();
        wait_beside();
    }

    void check() override {
        EXPECT_EQ(waited_, 2);
        EXPECT_TRUE(is_free(lock_));
    }

private:
    void set_active(bool active) {
        const std::lock_guard hold(lock_);
        active_ = active;
        if (active) changed_.notify_all();
    }

    void handle() {
        set_active(false);
        if (!buggy()) start("activation", [this] { set_active(true); });
    }

    void wait_beside() {
        waiter_.go({.name = "waiter"}, [this] {
            std::unique_lock hold(lock_);
            changed_.wait(hold, [this] { return active_; });
            ++waited_;
        });
        waiter_.wait();
    }

    mutex lock_;
    condition_variable changed_;
    bool active_ = false;  // guarded by lock_
    int waited_ = 0;       // the same
    wait_group waiter_;
};

WEFT_BUG(Moby29733, made_inactive_for_good, {"main", "wait group"}, {"waiter", "condition wait"});

// moby 30408. Callers wait until a plugin is active. Its activation fails: there is an error, the
// plugin will never be active, and the waiters are not notified.
class failed_is_not_active : public program {
public:
    using program::program;

    void run() override {
        waiter_.go({.name = "waiter"}, [this] { seen_ = wait_until_active(); });
        fail();
        waiter_.wait();
    }

    void check() override {
        EXPECT_EQ(seen_, std::errc::no_such_device);
        EXPECT_TRUE(is_free(lock_));
    }

private:
    std::error_code wait_until_active() {
        std::unique_lock hold(lock_);
        changed_.wait(hold, [this] { return active_ || (!buggy() && error_); });
        return error_;
    }

    void fail() {
        const std::lock_guard hold(lock_);
        error_ = std::make_error_code(std::errc::no_such_device);
        if (!buggy()) changed_.notify_all();
    }

    mutex lock_;
    condition_variable changed_;
    bool active_ = false;    // guarded by lock_
    std::error_code error_;  // the same
    std::error_code seen_;
    wait_group waiter_;
};

WEFT_BUG(Moby30408, failed_is_not_active, {"main", "wait group"}, {"waiter", "condition wait"});

}  // namespace
}  // namespace weft::test
