// 33_hang.cc: two green threads that wait for each other, found by a dump. docs/observing.md
// explains it.
//
// needs: weft::observe
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <mutex>

#include <weft/weft.h>

using namespace std::chrono_literals;

struct account {
    weft::mutex lock;
    int money = 100;
};

// Wrong: two transfers in opposite directions lock the accounts in opposite orders.
[[gnu::noinline]] void transfer(account& from, account& to, int amount) {
    const std::lock_guard first(from.lock);
    weft::sleep_for(1ms);  // asks whether it is allowed
    const std::lock_guard second(to.lock);
    from.money -= amount;
    to.money += amount;
}

int main() {
    return weft::main({.procs = 1}, [] {
        account mine;
        account yours;
        const weft::chan<int> done(2);
        weft::go({.name = "rent"}, [&, done] { transfer(mine, yours, 30), done.send(1); });
        weft::go({.name = "refund"}, [&, done] { transfer(yours, mine, 5), done.send(1); });
        if (!done.recv_for(100ms)) {
            std::printf("no transfer was made in 100 ms\n");
            std::fflush(stdout);
            weft::dump(STDOUT_FILENO);
        }
        std::fflush(stdout);
        ::_exit(0);  // the two would wait for ever
    });
}
