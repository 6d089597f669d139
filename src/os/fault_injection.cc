// fault_injection.cc: calls of the system that fail on purpose: see os.h.
#include "os/os.h"

namespace weft::detail::os {

namespace {

// Calls left until one fails; 0: no call fails.
constinit atomic<int> fail_map{0};
constinit atomic<int> fail_thread{0};
constinit atomic<int> fail_commit{0};
constinit atomic<int> fail_unmap{0};
constexpr int all_fail = -1;

atomic<int>& countdown_of(failure kind) noexcept {
    switch (kind) {
        case failure::map:
            return fail_map;
        case failure::thread:
            return fail_thread;
        case failure::commit:
            return fail_commit;
        case failure::unmap:
            break;
    }
    return fail_unmap;
}

}  // namespace

void fail_nth_for_test(failure kind, int n) noexcept {
    countdown_of(kind).store(n, relaxed);  // relaxed: tests only
}

void fail_all_commits_for_test() noexcept { fail_commit.store(all_fail, relaxed); }  // relaxed: tests only

bool injected_failure(failure kind) noexcept {
    atomic<int>& countdown = countdown_of(kind);
    int left = countdown.load(relaxed);  // relaxed: tests set it while no other thread runs
    if (left == all_fail) return true;
    while (left > 0) {
        if (countdown.compare_exchange_weak(left, left - 1, relaxed)) return left == 1;  // relaxed: as above
    }
    return false;
}

}  // namespace weft::detail::os
