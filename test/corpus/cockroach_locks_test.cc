// cockroach_locks_test.cc: bugs of CockroachDB in which a thread waits for a mutex.

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "corpus/program.h"

namespace weft::test {
namespace {

// cockroach 584. A loop that waits for news leaves by break, with the lock held, when the service
// is closed. The next function that takes the lock blocks for ever: its own green thread holds it.
class loop_left_with_the_lock : public program {
public:
    using program::program;

    void run() override {
        for (int stage = 0; stage < 2; ++stage) poll();
    }

    void leave_locked() { poll(); }

    void check() override {
        EXPECT_EQ(polled_, 2);
        EXPECT_TRUE(is_free(lock_));
    }

private:
    void poll() {
        for (;;) {
            lock_.lock();
            ++polled_;
            if (closed_) {
                if (!buggy()) lock_.unlock();
                break;
            }
            lock_.unlock();
        }
    }

    mutex lock_;
    bool closed_ = true;
    int polled_ = 0;
};

WEFT_BUG(Cockroach584, loop_left_with_the_lock, {"main", "mutex lock"});
WEFT_MISSING_UNLOCK(Cockroach584, loop_left_with_the_lock);

// cockroach 1055. Shutdown holds the lock while it waits for the workers. A worker that is about to
// begin a task wants the lock, and so does not learn that it must end.
class shutdown_under_the_lock : public program {
public:
    using program::program;

    void run() override {
        workers_.add(workers);
        for (int i = 0; i < workers; ++i) start("worker", [this] { work(); });
        shut_down();
    }

    void check() override {
        EXPECT_EQ(begun_ + refused_, workers);
        EXPECT_EQ(refused_, forced() ? workers : refused_);
        EXPECT_TRUE(is_free(lock_));
    }

private:
    static constexpr int workers = 3;

    void shut_down() {
        std::unique_lock hold(lock_);
        draining_ = true;
        locked_.come();
        if (!buggy()) hold.unlock();
        workers_.wait();
    }

    void work() {
        locked_.await();
        {
            const std::lock_guard hold(lock_);
            ++(draining_ ? refused_ : begun_);
        }
        workers_.done();
    }

    mutex lock_;
    // Guarded by lock_.
    bool draining_ = false;
    int begun_ = 0;
    int refused_ = 0;

    wait_group workers_;
    moment locked_{*this};
};

WEFT_BUG(Cockroach1055,
         shutdown_under_the_lock,
         {"main", "wait group"},
         {"worker", "mutex lock"},
         {"worker", "mutex lock"},
         {"worker", "mutex lock"});

// cockroach 7504. A lookup of a name locks the cache, then the entry. Releasing an entry locks the
// entry, then the cache.
class cache_and_entry : public program {
public:
    using program::program;

    void run() override {
        users_.go({.name = "lookup"}, [this] { look_up(1); });
        users_.go({.name = "release"}, [this] { release(entry_); });
        users_.wait();
    }

    void check() override {
        EXPECT_TRUE(cache_.empty());
        EXPECT_EQ(entry_.uses, found_ ? 1 : 0);
        EXPECT_TRUE(is_free(cache_lock_));
        EXPECT_TRUE(is_free(entry_.lock));
    }

    static constexpr bool order_survives_fix = false;  // each holds one of the locks and wants the other

private:
    struct entry {
        int key;
        mutex lock;
        int uses = 0;  // guarded by lock
    };

    void look_up(int key) {
        const std::lock_guard hold(cache_lock_);
        has_cache_.come();
        has_entry_.await();
        const auto at = cache_.find(key);
        if (at == cache_.end()) return;
        const std::lock_guard hold_entry(at->second->lock);
        ++at->second->uses;
        found_ = true;
    }

    void release(entry& e) {
        std::unique_lock hold(e.lock);
        const int key = e.key;
        has_entry_.come();
        has_cache_.await();
        if (!buggy()) hold.unlock();
        const std::lock_guard hold_cache(cache_lock_);
        cache_.erase(key);
    }

    entry entry_{.key = 1, .lock = {}};
    mutex cache_lock_;
    std::map<int, entry*> cache_{{1, &entry_}};  // guarded by cache_lock_
    bool found_ = false;                         // the same
    wait_group users_;
    moment has_cache_{*this};
    moment has_entry_{*this};
};

WEFT_BUG(Cockroach7504, cache_and_entry, {"lookup", "mutex lock"}, {"main", "wait group"}, {"release", "mutex lock"});

// cockroach 9935. Writing to a log takes its lock. If the file cannot be created, the write calls
// the function that reports the error with the lock held, and that function takes the lock too.
class log_that_reports_itself : public program {
public:
    using program::program;

    void run() override {
        for (int i = 0; i < lines; ++i) write(i % 2 == 0);
    }

    void check() override {
        EXPECT_EQ(written_, lines / 2);
        EXPECT_EQ(failures_, lines / 2);
        EXPECT_TRUE(is_free(lock_));
    }

private:
    static constexpr int lines = 4;

    void write(bool possible) {
        std::unique_lock hold(lock_);
        if (possible) {
            ++written_;
            return;
        }
        if (!buggy()) hold.unlock();
        report();
    }

    void report() {
        const std::lock_guard hold(lock_);
        ++failures_;
    }

    mutex lock_;
    int written_ = 0;
    int failures_ = 0;
};

WEFT_BUG(Cockroach9935, log_that_reports_itself, {"main", "mutex lock"});

// cockroach 10214. Sending what was queued holds the queue's lock and notifies each member, which
// takes the member's lock. A member's tick holds its lock (in fact two locks) and puts something
// into the queue.
class queue_and_members : public program {
public:
    using program::program;

    void run() override {
        start("sender", [this] { send_queued(); });
        start("ticker", [this] { tick(members_[0]); });
    }

    void check() override {
        int told = 0;
        for (member& m : members_) {
            told += m.told;
            EXPECT_TRUE(is_free(m.outer));
            EXPECT_TRUE(is_free(m.inner));
        }
        EXPECT_EQ(told, 2 * sent_);
        EXPECT_EQ(sent_ + static_cast<int>(queue_.size()), 3);
        EXPECT_TRUE(is_free(queue_lock_));
    }

    static constexpr bool order_survives_fix =
        false;  // the sender has the queue's lock while the ticker has the member's

private:
    struct member {
        mutex outer;
        int told = 0;  // guarded by outer
        mutex inner;
    };

    void send_queued() {
        std::unique_lock hold(queue_lock_);
        has_queue_.come();
        has_member_.await();
        sending_ = std::exchange(queue_, {});
        if (!buggy()) hold.unlock();
        for (; !sending_.empty(); sending_.pop_back()) {
            tell_all();
            ++sent_;
        }
    }

    void tell_all() {
        for (member& m : members_) {
            const std::lock_guard hold(m.outer);
            ++m.told;
        }
    }

    void tick(member& m) {
        const std::lock_guard hold_outer(m.outer);
        const std::lock_guard hold_inner(m.inner);
        has_member_.come();
        has_queue_.await();
        const std::lock_guard hold(queue_lock_);
        queue_.push_back(3);
    }

    member members_[2];
    mutex queue_lock_;
    std::vector<int> queue_{1, 2};  // guarded by queue_lock_
    std::vector<int> sending_;      // the sender's
    int sent_ = 0;                  // the sender's
    moment has_queue_{*this};
    moment has_member_{*this};
};

WEFT_BUG(Cockroach10214, queue_and_members, {"sender", "mutex lock"}, {"ticker", "mutex lock"});

}  // namespace
}  // namespace weft::test
