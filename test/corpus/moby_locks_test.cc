// moby_locks_test.cc: bugs of Moby in which a thread waits for a mutex, or for a group with a wrong
// count.

#include <atomic>
#include <chrono>
#include <mutex>
#include <set>
#include <string>

#include "corpus/program.h"

namespace weft::test {
namespace {

using namespace std::chrono_literals;

// moby 4951. Deleting a device locks the set of devices and then the device. While it waits for the
// device to go, it releases the set, and then locks it again. Another deletion of the same device
// takes the set in that time, and waits for the device.
class set_and_device : public program {
public:
    using program::program;

    void run() override {
        start("first", [this] { remove(); });
        in_the_middle_.await();
        start("second", [this] {
            second_ = true;
            remove();
        });
    }

    void check() override {
        EXPECT_EQ(removed_, 1);
        EXPECT_TRUE(devices_.empty());
        EXPECT_TRUE(is_free(set_lock_));
        EXPECT_TRUE(is_free(device_lock_));
    }

    static constexpr bool order_survives_fix = false;  // the second waits for the device before it has the set

private:
    void remove() {
        if (buggy()) {
            const std::lock_guard hold(set_lock_);
            if (second_) second_has_set_.come();
            const std::lock_guard hold_device(device_lock_);
            remove_locked();
        } else {
            const std::lock_guard hold_device(device_lock_);
            const std::lock_guard hold(set_lock_);
            remove_locked();
        }
    }

    void remove_locked() {
        if (!devices_.contains("volume")) return;
        set_lock_.unlock();
        in_the_middle_.come();
        second_has_set_.await();
        set_lock_.lock();
        devices_.erase("volume");
        ++removed_;
    }

    mutex set_lock_;
    std::set<std::string> devices_{"volume"};  // guarded by set_lock_
    int removed_ = 0;                          // the same
    mutex device_lock_;
    std::atomic<bool> second_ = false;
    moment in_the_middle_{*this};
    moment second_has_set_{*this};
};

WEFT_BUG(Moby4951, set_and_device, {"first", "mutex lock"}, {"second", "mutex lock"});

// moby 7559. A proxy locks, dials, and if that fails continues with the next attempt, with the lock
// held.
class left_out_with_the_lock : public program {
public:
    using program::program;

    void run() override {
        for (int i = 0; i < 3; ++i) serve(i);
    }

    void leave_locked() { serve(0); }

    void check() override {
        EXPECT_EQ(connections_, 2);
        EXPECT_TRUE(is_free(lock_));
    }

private:
    void serve(int attempt) {
        lock_.lock();
        if (!dial(attempt)) {
            if (!buggy()) lock_.unlock();
            return;
        }
        ++connections_;
        lock_.unlock();
    }

    static bool dial(int attempt) { return attempt != 0; }

    mutex lock_;
    int connections_ = 0;
};

WEFT_BUG(Moby7559, left_out_with_the_lock, {"main", "mutex lock"});
WEFT_MISSING_UNLOCK(Moby7559, left_out_with_the_lock);

// moby 17176. Cleaning up returns early, with the lock held, if there is nothing to do. The next
// caller waits for ever; the thread that waits for that one has a timeout.
class nothing_to_clean_up : public program {
public:
    using program::program;

    void run() override {
        clean_up();
        start("other", [this] {
            {
                const std::lock_guard hold(lock_);
                ++used_;
            }
            done_.close();
        });
        weft::select(on_recv(done_, [](auto) {}), on_timeout(buggy() ? 1ms : 1h, [this] { gave_up_ = true; }));
    }

    void check() override {
        EXPECT_EQ(used_, 1);
        EXPECT_FALSE(gave_up_);
        EXPECT_TRUE(is_free(lock_));
    }

    void leave_locked() { clean_up(); }

private:
    void clean_up() {
        lock_.lock();
        if (deleted_ == 0) {
            if (!buggy()) lock_.unlock();
            return;
        }
        deleted_ = 0;
        lock_.unlock();
    }

    mutex lock_;
    int deleted_ = 0;  // guarded by lock_
    int used_ = 0;     // the same
    const chan<token> done_;
    bool gave_up_ = false;
};

WEFT_BUG(Moby17176, nothing_to_clean_up, {"other", "mutex lock"});
WEFT_MISSING_UNLOCK(Moby17176, nothing_to_clean_up);

// moby 25384. A group counts all plugins, and is waited for after each one is started. The first
// wait is also for those that have not been started.
class waited_for_in_the_loop : public program {
public:
    using program::program;

    void run() override {
        group_.add(plugins);
        for (int i = 0; i < plugins; ++i) {
            start("plugin", [this] {
                started_.fetch_add(1);
                group_.done();
            });
            if (buggy()) group_.wait();
        }
        if (!buggy()) group_.wait();
        ready_ = started_.load();
    }

    void check() override { EXPECT_EQ(ready_, plugins); }

private:
    static constexpr int plugins = 3;

    wait_group group_;
    std::atomic<int> started_ = 0;
    int ready_ = 0;
};

WEFT_BUG(Moby25384, waited_for_in_the_loop, {"main", "wait group"});

// moby 28462. Stopping the monitor of a container holds the container's lock and sends the monitor
// a message. The monitor, which checked for messages a moment ago, is about to probe the container,
// and wants the lock.
class monitor_stopped_under_the_lock : public program {
public:
    using program::program;

    void run() override {
        start("monitor", [this] { monitor(); });
        looked_.await();
        const std::lock_guard hold(lock_);
        locked_.come();
        if (buggy()) {
            stop_.send(token{});
        } else {
            stop_.close();  // waits for no receiver
        }
    }

    void check() override {
        EXPECT_EQ(probes_, looks_);
        EXPECT_TRUE(is_free(lock_));
    }

private:
    void monitor() {
        for (bool stopped = false;;) {
            weft::select(on_recv(stop_, [&](auto) { stopped = true; }), otherwise([this] { ++looks_; }));
            if (stopped) return;
            if (looks_ == 1) looked_.come();
            probe();
            weft::yield();
        }
    }

    void probe() {
        locked_.await();
        const std::lock_guard hold(lock_);
        ++probes_;
    }

    const chan<token> stop_;
    int looks_ = 0;
    mutex lock_;
    int probes_ = 0;  // guarded by lock_
    moment looked_{*this};
    moment locked_{*this};
};

WEFT_BUG(Moby28462, monitor_stopped_under_the_lock, {"main", "chan send"}, {"monitor", "mutex lock"});

// moby 36114. Adding disks locks the machine and calls, among others, the function that removes
// disks, which locks the machine too.
class add_calls_remove : public program {
public:
    using program::program;

    void run() override { add(); }

    void check() override {
        EXPECT_EQ(disks_, 1);
        EXPECT_TRUE(is_free(lock_));
    }

private:
    void add() {
        const std::lock_guard hold(lock_);
        disks_ += 2;
        if (buggy()) {
            remove();
        } else {
            remove_locked();
        }
    }

    void remove() {
        const std::lock_guard hold(lock_);
        remove_locked();
    }

    void remove_locked() { --disks_; }

    mutex lock_;
    int disks_ = 0;  // guarded by lock_
};

WEFT_BUG(Moby36114, add_calls_remove, {"main", "mutex lock"});

}  // namespace
}  // namespace weft::test
