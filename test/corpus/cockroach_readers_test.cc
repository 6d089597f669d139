// cockroach_readers_test.cc: bugs of CockroachDB in which a reader takes a shared lock a second
// time while a writer waits.

#include <mutex>
#include <shared_mutex>
#include <string>

#include "corpus/program.h"

namespace weft::test {
namespace {

// cockroach 3710. A scan of all replicas is a reader. Deep in what it calls for each replica, also
// under the queue's lock, the code asks for the status, which takes the shared lock again.
class scan_asks_for_status : public program {
public:
    using program::program;

    void run() override {
        start("scan", [this] { scan(); });
        start("raft", [this] {
            reading_.await();
            const std::lock_guard hold(store_lock_);
            ++status_;
        });
    }

    void check() override {
        EXPECT_EQ(status_, 1);
        EXPECT_EQ(queued_ % replicas, 0);
        EXPECT_TRUE(is_free(store_lock_));
        EXPECT_TRUE(is_free(queue_lock_));
    }

private:
    static constexpr int replicas = 3;

    void scan() {
        const std::shared_lock hold(store_lock_);
        reading_.come();
        if (forced()) await_writer(store_lock_);
        for (int i = 0; i < replicas; ++i) consider();
    }

    void consider() {
        const std::lock_guard hold(queue_lock_);
        queued_ += buggy() ? status() : status_locked();
    }

    int status() {
        const std::shared_lock hold(store_lock_);
        return status_locked();
    }

    [[nodiscard]] int status_locked() const { return status_; }

    shared_mutex store_lock_;
    int status_ = 0;  // guarded by store_lock_
    mutex queue_lock_;
    int queued_ = 0;  // guarded by queue_lock_
    moment reading_{*this};
};

WEFT_BUG(Cockroach3710, scan_asks_for_status, {"raft", "shared mutex lock"}, {"scan", "shared mutex lock shared"});

// cockroach 6181. Each lookup reads a cache, then writes it. During the read it logs a line, for
// which the cache describes itself: it reads again. Another lookup is already at its write.
class cache_describes_itself : public program {
public:
    using program::program;

    void run() override {
        for (int i = 0; i < lookups; ++i) lookups_.go({.name = "lookup"}, [this, i] { look_up(i); });
        lookups_.wait();
    }

    void check() override {
        EXPECT_EQ(entries_, lookups);
        EXPECT_TRUE(is_free(lock_));
    }

private:
    static constexpr int lookups = 3;

    void look_up(int number) {
        lock_.lock_shared();
        if (number != 0) {
            reading_.come();
            if (forced()) await_writer(lock_);
        }
        const std::string line = "in " + (buggy() ? describe() : describe_locked());
        lock_.unlock_shared();
        if (number == 0) reading_.await();
        const std::lock_guard hold(lock_);
        entries_ += line.empty() ? 0 : 1;
    }

    std::string describe() {
        const std::shared_lock hold(lock_);
        return describe_locked();
    }

    [[nodiscard]] std::string describe_locked() const { return std::to_string(entries_); }

    shared_mutex lock_;
    int entries_ = 0;  // guarded by lock_
    wait_group lookups_;
    moment reading_{*this, lookups - 1};
};

WEFT_BUG(Cockroach6181,
         cache_describes_itself,
         {"lookup", "shared mutex lock"},
         {"lookup", "shared mutex lock shared"},
         {"lookup", "shared mutex lock shared"},
         {"main", "wait group"});

// cockroach 16167. The lock of a condition is the reading side of a configuration's lock: two names
// for one lock. Statements hold it by one name, and read the configuration by the other.
class two_names_for_one_lock : public program {
public:
    using program::program;

    void run() override {
        start("update", [this] {
            reading_.await();
            const std::lock_guard hold(config_lock_);
            ++config_;
        });
        execute();
    }

    void check() override {
        EXPECT_EQ(config_, 1);
        EXPECT_TRUE(prepared_ == 0 || prepared_ == 1);
        EXPECT_TRUE(is_free(config_lock_));
    }

private:
    struct reading_side {
        shared_mutex& of;

        void lock() { of.lock_shared(); }

        void unlock() { of.unlock_shared(); }
    };

    void execute() {
        const std::lock_guard hold(condition_lock_);
        reading_.come();
        if (forced()) await_writer(config_lock_);
        prepare();
    }

    void prepare() {
        if (buggy()) config_lock_.lock_shared();
        prepared_ = config_;
        if (buggy()) config_lock_.unlock_shared();
    }

    shared_mutex config_lock_;
    reading_side condition_lock_{config_lock_};
    int config_ = 0;  // guarded by config_lock_
    int prepared_ = -1;
    moment reading_{*this};
};

WEFT_BUG(Cockroach16167, two_names_for_one_lock, {"main", "shared mutex lock shared"}, {"update", "shared mutex lock"});

}  // namespace
}  // namespace weft::test
