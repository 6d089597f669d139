// component_threads.cc: see component_threads.h.
#include "base/component_threads.h"

#include <cstddef>

#include "base/atomic.h"

namespace weft::detail {

namespace {

constinit atomic<int> tids[128] = {};               // 0: free
constinit atomic<const void*> schedulers[32] = {};  // nullptr: free

template <typename T, std::size_t N>
void replace(atomic<T> (&all)[N], T before, T after) noexcept {
    for (atomic<T>& one : all) {
        T expected = before;
        if (one.compare_exchange_strong(expected, after, acq_rel, relaxed)) return;  // relaxed: the next one
    }
}

template <typename T, std::size_t N>
bool has(const atomic<T> (&all)[N], T wanted) noexcept {
    for (const atomic<T>& one : all) {
        if (one.load(acquire) == wanted) return true;  // from replace
    }
    return false;
}

}  // namespace

void add_component_thread(int tid) noexcept { replace(tids, 0, tid); }

void remove_component_thread(int tid) noexcept { replace(tids, tid, 0); }

bool is_component_thread(int tid) noexcept { return has(tids, tid); }

void add_component_runtime(const void* scheduler) noexcept {
    replace(schedulers, static_cast<const void*>(nullptr), scheduler);
}

void remove_component_runtime(const void* scheduler) noexcept {
    replace(schedulers, scheduler, static_cast<const void*>(nullptr));
}

bool is_component_runtime(const void* scheduler) noexcept { return has(schedulers, scheduler); }

}  // namespace weft::detail
