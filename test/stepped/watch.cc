// watch.cc: in place of src/os/watch_linux.cc: what other threads are doing, in turns.
#include "os/os.h"
#include "turns.h"

namespace weft::detail::os {

int64_t thread_cpu_ns(int tid) noexcept {
    const stepped::controlled* t = stepped::find_by_tid(tid);
    return t == nullptr ? -1 : stepped::cpu_ns(*t);
}

bool thread_wants_cpu(int tid) noexcept {
    const stepped::controlled* t = stepped::find_by_tid(tid);
    return t != nullptr && stepped::could_run(*t);
}

int64_t thread_waited_ns(int) noexcept { return 0; }

bool for_each_thread(bool (*)(void* closure, int tid) noexcept, void*) noexcept { return false; }

void want_short_slices(int, bool) noexcept {}

bool wants_short_slices(int) noexcept { return false; }

}  // namespace weft::detail::os
