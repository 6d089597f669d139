// kubernetes_conditions_test.cc: bugs of Kubernetes with readers, writers and condition variables.

#include <deque>
#include <mutex>
#include <optional>
#include <shared_mutex>

#include "corpus/program.h"

namespace weft::test {
namespace {

// kubernetes 11298. A service holds the lock. Its helper waits for the condition, and releases the
// lock during the wait. To end, the service notifies and waits for the helper, which has not begun
// to wait.
class notified_before_the_wait : public program {
public:
    using program::program;

    void run() override {
        start("service", [this] { serve(); });
        if (forced()) {
            helping_.await();
        } else {
            notified_.wait();
        }
        aborted_.close();
        over_ = true;
    }

    void check() override {
        EXPECT_EQ(helped_, helpers_);
        EXPECT_TRUE(is_free(lock_));
    }

private:
    void serve() {
        if (!forced()) start("notifier", [this] { notify(); });
        if (buggy()) lock_.lock();
        for (bool aborted = false; !aborted;) {
            if (++helpers_ == 1) helping_.come();
            start("helper", [this] { help(); });
            weft::select(on_recv(helped_once_,
                                 [this](auto) {
                                     if (++notifications_ == 1) notified_.done();
                                 }),
                         on_recv(aborted_, [&](auto) { aborted = true; }));
        }
        if (!buggy()) lock_.lock();
        ended_ = true;
        if (!buggy()) lock_.unlock();
        condition_.notify_all();
        lost_.come();
        if (helped_once_.recv() && buggy()) lock_.unlock();
    }

    void help() {
        lost_.await();
        if (buggy()) {
            std::unique_lock hold(lock_, std::adopt_lock);
            condition_.wait(hold);
            hold.release();
        } else {
            std::unique_lock hold(lock_);
            condition_.wait(hold, [this] { return news_ || ended_; });
            news_ = false;
            ++helped_;
        }
        helped_once_.send(token{});
    }

    void notify() {
        while (!over_) {
            {
                const std::lock_guard hold(lock_);
                news_ = true;
            }
            condition_.notify_one();
            weft::yield();
        }
    }

    mutex lock_;
    condition_variable condition_;
    bool news_ = false;   // guarded by lock_
    bool ended_ = false;  // the same
    int helped_ = 0;      // the same
    std::atomic<bool> over_ = false;
    const chan<token> helped_once_{1};
    const chan<token> aborted_;
    int helpers_ = 0;        // the service's
    int notifications_ = 0;  // the service's
    group_of notified_{buggy() || forced() ? 0 : 1};
    moment helping_{*this};
    moment lost_{*this};
};

WEFT_BUG(Kubernetes11298, notified_before_the_wait, {"helper", "condition wait"}, {"service", "chan receive"});

// kubernetes 26980. Notifications are queued under a lock. The thread that takes them out delivers
// each with the lock held, so no other thread can queue one. The receiver waits for such a
// notification before it accepts delivery.
class delivery_under_the_lock : public program {
public:
    using program::program;

    void run() override {
        add(1);
        start("pop", [this] { pop(); });
        adder_.go({.name = "adder"}, [this] {
            delivering_.await();
            add(2);
        });
        adder_.wait();
        for (int i = 1; i <= 2; ++i) delivered_ += delivery_.recv() == i ? 1 : 0;
        stop();
    }

    void check() override {
        EXPECT_EQ(delivered_, 2);
        EXPECT_TRUE(pending_.empty());
        EXPECT_TRUE(is_free(lock_));
    }

private:
    void add(int notification) {
        {
            const std::lock_guard hold(lock_);
            pending_.push_back(notification);
        }
        condition_.notify_all();
    }

    void pop() {
        std::unique_lock hold(lock_);
        for (bool first = true;; first = false) {
            condition_.wait(hold, [this] { return stopped_ || !pending_.empty(); });
            if (pending_.empty()) return;
            const int notification = pending_.front();
            pending_.pop_front();
            if (first) delivering_.come();
            if (!buggy()) hold.unlock();
            weft::select(on_send(delivery_, notification, [] {}), on_recv(stop_, [](auto) {}));
            if (!buggy()) hold.lock();
        }
    }

    void stop() {
        stop_.close();
        {
            const std::lock_guard hold(lock_);
            stopped_ = true;
        }
        condition_.notify_all();
    }

    shared_mutex lock_;
    condition_variable_any condition_;
    std::deque<int> pending_;  // guarded by lock_
    bool stopped_ = false;     // the same
    const chan<int> delivery_;
    const chan<token> stop_;
    int delivered_ = 0;
    wait_group adder_;
    moment delivering_{*this};
};

WEFT_BUG(Kubernetes26980,
         delivery_under_the_lock,
         {"adder", "shared mutex lock"},
         {"main", "wait group"},
         {"pop", "select"});

// kubernetes 58107. Workers on two queues are readers of one lock, even while they wait for an item
// in their queue. One queue is empty. A writer waits for that queue's worker, and the worker of the
// other queue, which has items, waits for the writer.
class waits_as_a_reader : public program {
public:
    using program::program;

    void run() override {
        start("idle", [this] { work(empty_); });
        start("sync", [this] {
            waiting_.await();
            const std::lock_guard hold(lock_);
            ++syncs_;
        });
        if (forced()) {
            waiting_.await();
            await_writer(lock_);
        }
        start("busy", [this] { work(full_); });
        put(full_);
        done_.recv();
        put(empty_);
        done_.recv();
    }

    void check() override {
        EXPECT_EQ(worked_, 2);
        EXPECT_EQ(syncs_, 1);
        EXPECT_TRUE(is_free(lock_));
    }

    static constexpr bool order_survives_fix = false;  // no thread waits as a reader

private:
    struct queue {
        mutex lock;
        condition_variable filled;
        int items = 0;  // guarded by lock
    };

    void work(queue& q) {
        if (buggy()) {
            const std::shared_lock hold(lock_);
            take(q);
        } else {
            take(q);
            const std::shared_lock hold(lock_);
        }
        worked_.fetch_add(1);
        done_.send(token{});
    }

    void take(queue& q) {
        std::unique_lock hold(q.lock);
        if (&q == &empty_) waiting_.come();
        q.filled.wait(hold, [&q] { return q.items > 0; });
        --q.items;
    }

    static void put(queue& q) {
        {
            const std::lock_guard hold(q.lock);
            ++q.items;
        }
        q.filled.notify_one();
    }

    shared_mutex lock_;
    int syncs_ = 0;  // guarded by lock_
    queue empty_;
    queue full_;
    std::atomic<int> worked_ = 0;
    const chan<token> done_{2};
    moment waiting_{*this};
};

WEFT_BUG(Kubernetes58107,
         waits_as_a_reader,
         {"busy", "shared mutex lock shared"},
         {"idle", "condition wait"},
         {"main", "chan receive"},
         {"sync", "shared mutex lock"});

// kubernetes 62464. A state returns a set, or the default one: a reader that calls two others.
// Removing a container reads, and then writes.
class reader_calls_reader : public program {
public:
    using program::program;

    void run() override {
        start("reconcile", [this] { get_or_default(); });
        start("remove", [this] {
            reading_.await();
            ++default_reads_;
            set_default(get_default() + 1);
        });
    }

    void check() override {
        EXPECT_EQ(default_, 8);
        EXPECT_TRUE(got_ == 7 || got_ == 8);
        EXPECT_EQ(default_reads_, 1);
        EXPECT_TRUE(is_free(lock_));
    }

private:
    void get_or_default() {
        const std::shared_lock hold(lock_);
        reading_.come();
        if (forced()) await_writer(lock_);
        const std::optional<int> own = buggy() ? get() : own_;
        if (own) return;
        got_ = buggy() ? get_default() : default_;
    }

    std::optional<int> get() {
        const std::shared_lock hold(lock_);
        return own_;
    }

    int get_default() {
        const std::shared_lock hold(lock_);
        return default_;
    }

    void set_default(int set) {
        const std::lock_guard hold(lock_);
        default_ = set;
    }

    shared_mutex lock_;
    std::optional<int> own_;  // guarded by lock_
    int default_ = 7;         // the same
    int default_reads_ = 0;
    int got_ = 0;
    moment reading_{*this};
};

WEFT_BUG(Kubernetes62464,
         reader_calls_reader,
         {"reconcile", "shared mutex lock shared"},
         {"remove", "shared mutex lock"});

}  // namespace
}  // namespace weft::test
