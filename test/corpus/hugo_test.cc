// hugo_test.cc: bugs of Hugo.

#include <chrono>
#include <map>
#include <mutex>
#include <shared_mutex>
#include <string>

#include "corpus/program.h"

namespace weft::test {
namespace {

using namespace std::chrono_literals;

// hugo 3251. Each address has a lock, in a map that has a lock too. Locking an address locks the
// map, and then the address with the map still locked. Unlocking the address needs the map.
class map_of_locks : public program {
public:
    using program::program;

    void run() override {
        for (int i = 0; i < users; ++i) users_.go({.name = i == 0 ? "first" : "second"}, [this, i] { fetch(i); });
        users_.wait();
    }

    void check() override {
        EXPECT_EQ(fetched_, users);
        EXPECT_EQ(locks_.size(), 1U);
        EXPECT_TRUE(is_free(locks_["x"]));
        EXPECT_TRUE(is_free(map_lock_));
    }

private:
    static constexpr int users = 2;

    void fetch(int number) {
        if (number != 0) has_address_.await();
        lock("x", number);
        ++fetched_;
        if (number == 0) {
            has_address_.come();
            has_map_.await();
        }
        unlock("x");
    }

    void lock(const std::string& address, int number) {
        std::unique_lock hold(map_lock_);
        if (number != 0) has_map_.come();
        mutex& m = locks_[address];
        if (!buggy()) hold.unlock();
        m.lock();
    }

    void unlock(const std::string& address) {
        const std::shared_lock hold(map_lock_);
        locks_.find(address)->second.unlock();
    }

    shared_mutex map_lock_;
    std::map<std::string, mutex> locks_;  // guarded by map_lock_
    int fetched_ = 0;                     // guarded by the lock of x
    wait_group users_;
    moment has_address_{*this};
    moment has_map_{*this};
};

WEFT_BUG(
    Hugo3251, map_of_locks, {"first", "shared mutex lock shared"}, {"main", "wait group"}, {"second", "mutex lock"});

// hugo 5379. A page's content is made once, by a helper, under a lock, and waited for with a
// timeout. Making it counts the words of its plain text, which is also made once, under the same
// lock.
class made_while_being_made : public program {
public:
    using program::program;

    void run() override { count_words(); }

    void check() override {
        EXPECT_EQ(contents_, 1);
        EXPECT_EQ(plains_, 1);
        EXPECT_TRUE(is_free(lock_));
    }

private:
    void count_words() {
        call_once(content_once_, [this] {
            start("helper", [this] { make_content(); });
            weft::select(on_recv(made_, [](auto) {}), on_timeout(buggy() ? 1ms : 1h, [] {}));
        });
        making_plain_.await();
        make_plain();
    }

    void make_content() {
        {
            std::unique_lock hold(lock_);
            ++contents_;
            if (!buggy()) hold.unlock();
            make_plain();
        }
        made_.close();
    }

    void make_plain() {
        call_once(plain_once_, [this] {
            making_plain_.come();
            const std::lock_guard hold(lock_);
            ++plains_;
        });
    }

    once_flag content_once_;
    once_flag plain_once_;
    const chan<token> made_;
    mutex lock_;
    int contents_ = 0;  // guarded by lock_
    int plains_ = 0;    // the same
    moment making_plain_{*this};
};

WEFT_BUG(Hugo5379, made_while_being_made, {"helper", "mutex lock"}, {"main", "call once"});

}  // namespace
}  // namespace weft::test
