// etcd_locks_test.cc: bugs of etcd in which a green thread takes a lock that it already holds.

#include <mutex>
#include <shared_mutex>

#include "corpus/program.h"

namespace weft::test {
namespace {

// etcd 5509. A client is locked shared while it is in use. If it turns out to be closed, it stays
// locked. Closing it happens in two parts, and waits before the second.
class closed_client_stays_locked : public program {
public:
    using program::program;

    void run() override {
        start("user", [this] {
            half_closed_.await();
            use();
            used_.come();
        });
        close();
    }

    void leave_locked() {
        closed_ = true;
        use();
    }

    void check() override {
        EXPECT_EQ(used_well_ + refused_, 1);
        EXPECT_EQ(refused_, forced() ? 1 : refused_);
        EXPECT_TRUE(closed_);
        EXPECT_TRUE(is_free(lock_));
    }

private:
    void use() {
        lock_.lock_shared();
        if (closed_) {
            ++refused_;
            if (!buggy()) lock_.unlock_shared();
            return;
        }
        ++used_well_;
        lock_.unlock_shared();
    }

    void close() {
        {
            const std::lock_guard hold(lock_);
            closed_ = true;
        }
        half_closed_.come();
        used_.await();
        const std::lock_guard hold(lock_);
    }

    shared_mutex lock_;
    bool closed_ = false;  // guarded by lock_
    int refused_ = 0;      // the user's
    int used_well_ = 0;    // the user's
    moment half_closed_{*this};
    moment used_{*this};
};

WEFT_BUG(Etcd5509, closed_client_stays_locked, {"main", "shared mutex lock"});
WEFT_MISSING_UNLOCK(Etcd5509, closed_client_stays_locked);

// etcd 6708. Synchronising a client locks it. One way to choose an endpoint is to ask the leader,
// through the same client, which takes the lock shared.
class asks_through_itself : public program {
public:
    using program::program;

    void run() override {
        for (const bool by_leader : {false, true}) synchronise(by_leader);
    }

    void check() override {
        EXPECT_EQ(requests_, 1);
        EXPECT_EQ(endpoint_, 7);
        EXPECT_TRUE(is_free(lock_));
    }

private:
    void synchronise(bool by_leader) {
        int leader = 0;
        if (!buggy() && by_leader) leader = ask_leader();
        const std::lock_guard hold(lock_);
        if (buggy() && by_leader) leader = ask_leader();
        endpoint_ = leader;
    }

    int ask_leader() {
        const std::shared_lock hold(lock_);
        ++requests_;
        return 7 + endpoint_;
    }

    shared_mutex lock_;
    int endpoint_ = 0;  // guarded by lock_
    int requests_ = 0;
};

WEFT_BUG(Etcd6708, asks_through_itself, {"main", "shared mutex lock shared"});

// etcd 10492. Renewing a lease holds the lock and calls the function that was registered to write
// checkpoints. The registered function locks too.
class renewal_calls_back : public program {
public:
    using program::program;

    void run() override {
        renew();
        has_callback_ = true;
        renew();
    }

    void check() override {
        EXPECT_EQ(renewed_, 2);
        EXPECT_EQ(checkpoints_, 1);
        EXPECT_TRUE(is_free(lock_));
    }

private:
    void renew() {
        std::unique_lock hold(lock_);
        ++renewed_;
        if (!has_callback_) return;
        if (!buggy()) hold.unlock();
        checkpoint();
    }

    void checkpoint() {
        const std::lock_guard hold(lock_);
        ++checkpoints_;
    }

    shared_mutex lock_;
    bool has_callback_ = false;
    int renewed_ = 0;      // guarded by lock_
    int checkpoints_ = 0;  // the same
};

WEFT_BUG(Etcd10492, renewal_calls_back, {"main", "shared mutex lock"});

}  // namespace
}  // namespace weft::test
