// 45_lock_order.cc: two locks that are taken in two orders. The schedule that was tried does not
// deadlock, but the simulation says that others may.
//
// A transfer locks the account that gives, then the one that takes. Two transfers in opposite
// directions can wait for each other. They do so rarely: not in the default order, in which the one
// ends before the other begins. Nothing else is tried here.
//
// needs: weft::sim weft::observe
#include <cstdio>
#include <mutex>

#include <weft/sim/sim.h>
#include <weft/weft.h>

namespace {

struct account {
    weft::mutex lock;
    int money = 100;
};

void transfer(account& from, account& to) {
    const std::lock_guard first(from.lock);
    const std::lock_guard second(to.lock);
    --from.money;
    ++to.money;
}

// std::scoped_lock takes both without waiting for one while it holds the other.
void transfer_well(account& from, account& to) {
    const std::scoped_lock both(from.lock, to.lock);
    --from.money;
    ++to.money;
}

void test(void (*move)(account& from, account& to)) {
    account a;
    account b;
    weft::wait_group both;
    both.go([&] {
        weft::this_g::set_name("anna");
        move(a, b);
    });
    both.go([&] {
        weft::this_g::set_name("otto");
        move(b, a);
    });
    both.wait();
}

}  // namespace

int main() {
    const weft::sim::report wrong = weft::sim::explore({.schedules = 1}, [] { test(transfer); });
    std::printf("%s\n", wrong.reason.c_str());
    const weft::sim::report right = weft::sim::explore({}, [] { test(transfer_well); });
    std::printf("with std::scoped_lock: %s\n", right ? "passed" : "failed");
}
