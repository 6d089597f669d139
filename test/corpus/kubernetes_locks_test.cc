// kubernetes_locks_test.cc: bugs of Kubernetes in which a thread waits for a mutex.

#include <map>
#include <memory>
#include <mutex>

#include "corpus/program.h"

namespace weft::test {
namespace {

// kubernetes 1321. Events are given to all watchers with the lock held. A watcher that wants to
// leave needs the lock for that.
class watcher_leaves : public program {
public:
    using program::program;

    void run() override {
        watchers_.emplace(1, watcher());
        const watcher& mine = watchers_.at(1);
        start("distributor", [this] {
            for (int event = 0; event < events; ++event) distribute(event);
        });
        for (int i = 0; i < wanted; ++i) received_ += mine.result.recv() == i ? 1 : 0;
        sending_.await();
        stop_watching(1);
    }

    void check() override {
        EXPECT_EQ(received_, wanted);
        EXPECT_EQ(delivered_, wanted);
        EXPECT_TRUE(watchers_.empty());
        EXPECT_TRUE(is_free(lock_));
    }

private:
    static constexpr int events = 5;
    static constexpr int wanted = 2;

    struct watcher {
        chan<int> result;
        chan<token> leaving;  // the fix: closed before the removal, without the lock
    };

    void distribute(int event) {
        const std::lock_guard hold(lock_);
        if (event == wanted) sending_.come();
        for (const auto& [id, w] : watchers_) {
            if (buggy()) {
                w.result.send(event);
                ++delivered_;
            } else {
                weft::select(on_send(w.result, event, [this] { ++delivered_; }), on_recv(w.leaving, [](auto) {}));
            }
        }
    }

    void stop_watching(int id) {
        if (!buggy()) watchers_.at(id).leaving.close();
        const std::lock_guard hold(lock_);
        watchers_.at(id).result.close();
        watchers_.erase(id);
    }

    mutex lock_;
    std::map<int, watcher> watchers_;  // changed under lock_
    int delivered_ = 0;                // guarded by lock_
    int received_ = 0;
    moment sending_{*this};
};

WEFT_BUG(Kubernetes1321, watcher_leaves, {"distributor", "chan send"}, {"main", "mutex lock"});

// kubernetes 6632. Writing resets a timer, through a channel, with the lock held. The receiver of
// the channel is told to close, and wants the lock for that.
class reset_nobody_takes : public program {
public:
    using program::program;

    void run() override {
        start("monitor", [this] { monitor(); });
        start("writer", [this] { write(); });
        writing_.await();
        closing_.send(token{});
    }

    void check() override {
        EXPECT_EQ(written_, taken_);
        EXPECT_EQ(written_ + refused_, 1);
        EXPECT_TRUE(resets_.closed());
        EXPECT_TRUE(is_free(lock_));
    }

private:
    void write() {
        const std::lock_guard hold(lock_);
        writing_.come();
        monitor_left_.await();
        if (closed_) {
            ++refused_;
            return;
        }
        resets_.send(token{});
        ++written_;
    }

    void monitor() {
        for (bool closing = false; !closing;) {
            weft::select(on_recv(resets_, [this](auto) { ++taken_; }),
                         on_recv(closing_, [&](auto) { closing = true; }));
        }
        monitor_left_.come();
        if (!buggy()) {
            // A green thread receives what is still sent.
            drained_.go({.name = "drain"}, [this] {
                while (resets_.recv()) ++taken_;
            });
        }
        {
            const std::lock_guard hold(lock_);
            closed_ = true;
            resets_.close();
        }
        drained_.wait();
    }

    const chan<token> resets_;
    const chan<token> closing_;
    mutex lock_;
    bool closed_ = false;  // guarded by lock_
    int written_ = 0;
    int refused_ = 0;
    int taken_ = 0;
    wait_group drained_;
    moment writing_{*this};
    moment monitor_left_{*this};
};

WEFT_BUG(Kubernetes6632, reset_nobody_takes, {"monitor", "mutex lock"}, {"writer", "chan send"});

// kubernetes 10182. A new status is sent with the lock held. The receiver needs the lock for each
// status that it has received.
class status_under_the_lock : public program {
public:
    using program::program;

    void run() override {
        start("syncer", [this] {
            for (int i = 0; i < statuses; ++i) {
                statuses_.recv();
                setting_.await();
                const std::lock_guard hold(lock_);
                --pending_;
            }
        });
        for (int i = 0; i < statuses; ++i) set(i);
    }

    void check() override {
        EXPECT_EQ(pending_, 0);
        EXPECT_TRUE(is_free(lock_));
    }

private:
    static constexpr int statuses = 3;

    void set(int number) {
        std::unique_lock hold(lock_);
        ++pending_;
        if (number == 1) setting_.come();
        if (!buggy()) hold.unlock();
        statuses_.send(token{});
    }

    const chan<token> statuses_;
    mutex lock_;
    int pending_ = 0;  // guarded by lock_
    moment setting_{*this};
};

WEFT_BUG(Kubernetes10182, status_under_the_lock, {"main", "chan send"}, {"syncer", "mutex lock"});

// kubernetes 13135. Filling a cache locks the cache, then the store. A store that is filled calls
// back to unlock the cache. Adding to the store locks the store and calls back to the cache, which
// locks itself.
class cache_and_store : public program {
public:
    using program::program;

    void run() override {
        start("filler", [this] {
            for (int i = 0; i < fills; ++i) fill(i);
        });
        filled_.wait();
        start("adder", [this] { add(); });
    }

    void check() override {
        EXPECT_EQ(fills_, fills);
        EXPECT_EQ(events_, 1);
        EXPECT_TRUE(is_free(cache_lock_));
        EXPECT_TRUE(is_free(store_lock_));
    }

private:
    static constexpr int fills = 3;

    void fill(int number) {
        cache_lock_.lock();
        if (number == 1) {
            has_cache_.come();
            has_store_.await();
        }
        const std::lock_guard hold(store_lock_);
        on_replace();
    }

    void on_replace() {
        if (++fills_ == 1) filled_.done();
        cache_lock_.unlock();
    }

    void add() {
        std::unique_lock hold(store_lock_);
        has_store_.come();
        has_cache_.await();
        if (!buggy()) hold.unlock();
        on_event();
    }

    void on_event() {
        const std::lock_guard hold(cache_lock_);
        ++events_;
    }

    mutex cache_lock_;
    int events_ = 0;  // guarded by cache_lock_
    int fills_ = 0;   // the same
    mutex store_lock_;

    group_of filled_{1};
    moment has_cache_{*this};
    moment has_store_{*this};
};

WEFT_BUG(Kubernetes13135, cache_and_store, {"adder", "mutex lock"}, {"filler", "mutex lock"});

// kubernetes 30872. Taking from a queue locks it and calls the informer, which locks itself. Asking
// the informer whether it is up to date locks it and asks the queue. Stopping the informer comes
// too late: it is locked.
class queue_and_informer : public program {
public:
    using program::program;

    void run() override {
        start("popper", [this] { pop(); });
        start("reconciler", [this] { ask(); });
        has_informer_.await();
        const std::lock_guard hold(informer_lock_);
        stopped_ = true;
    }

    void check() override {
        EXPECT_EQ(clusters_, 1);
        EXPECT_TRUE(stopped_);
        EXPECT_TRUE(is_free(queue_lock_));
        EXPECT_TRUE(is_free(informer_lock_));
    }

    static constexpr bool order_survives_fix = false;  // the popper holds the queue while the reconciler asks for it

private:
    void pop() {
        const std::lock_guard hold(queue_lock_);
        has_queue_.come();
        has_informer_.await();
        length_ = 0;
        add_cluster();
    }

    void add_cluster() {
        const std::lock_guard hold(informer_lock_);
        ++clusters_;
    }

    void ask() {
        std::unique_lock hold(informer_lock_);
        if (!buggy()) hold.unlock();
        has_informer_.come();
        has_queue_.await();
        const std::lock_guard hold_queue(queue_lock_);
        synced_ = length_ == 0;
    }

    mutex queue_lock_;
    int length_ = 1;       // guarded by queue_lock_
    bool synced_ = false;  // the same
    mutex informer_lock_;
    int clusters_ = 0;      // guarded by informer_lock_
    bool stopped_ = false;  // the same
    moment has_queue_{*this};
    moment has_informer_{*this};
};

WEFT_BUG(Kubernetes30872,
         queue_and_informer,
         {"main", "mutex lock"},
         {"popper", "mutex lock"},
         {"reconciler", "mutex lock"});

}  // namespace
}  // namespace weft::test
