// component_threads.cc: see component_threads.h.
#include "base/component_threads.h"

#include "base/atomic.h"

namespace weft::detail {

namespace {

constexpr int most = 128;
constinit atomic<int> tids[most] = {};  // 0: free

bool replace(int before, int after) noexcept {
    for (atomic<int>& tid : tids) {
        int expected = before;
        if (tid.compare_exchange_strong(expected, after, acq_rel, relaxed)) return true;  // relaxed: the next one
    }
    return false;
}

}  // namespace

void add_component_thread(int tid) noexcept { static_cast<void>(replace(0, tid)); }

void remove_component_thread(int tid) noexcept { static_cast<void>(replace(tid, 0)); }

bool is_component_thread(int tid) noexcept {
    for (const atomic<int>& one : tids) {
        if (one.load(acquire) == tid) return true;  // from replace
    }
    return false;
}

}  // namespace weft::detail
