// hugo_test.cc: bugs of Hugo's.

#include <map>
#include <mutex>
#include <shared_mutex>
#include <string>

#include "corpus/program.h"

namespace weft::test {
namespace {

// hugo 3251. Each address has a lock, in a map that has one. To lock an address means to lock the map, and then the address, while the map is locked. To
// unlock it one has to look into the map.
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

}  // namespace
}  // namespace weft::test
