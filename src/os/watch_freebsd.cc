// watch_freebsd.cc: what other threads of the process are doing: see os.h.
#include <pthread.h>
#include <sys/sysctl.h>
#include <sys/types.h>
#include <sys/user.h>
#include <time.h>
#include <unistd.h>

#include "os/os.h"

namespace weft::detail::os {

namespace {

// All threads of the process, as the system lists them.
class thread_list {
public:
    thread_list() noexcept {
        int what[] = {CTL_KERN, KERN_PROC, KERN_PROC_PID | KERN_PROC_INC_THREAD, getpid()};
        std::size_t size = 0;
        if (sysctl(what, 4, nullptr, &size, nullptr, 0) != 0) return;
        const std::size_t page = page_size();
        mapped_ = (size + size / 8 + page - 1) / page * page;  // more threads may begin meanwhile
        threads_ = static_cast<kinfo_proc*>(map_pages(mapped_, true));
        size = mapped_;
        if (threads_ != nullptr && sysctl(what, 4, threads_, &size, nullptr, 0) == 0)
            count_ = size / sizeof(kinfo_proc);
    }

    ~thread_list() {
        if (threads_ != nullptr) unmap_pages(threads_, mapped_);
    }

    thread_list(const thread_list&) = delete;
    thread_list& operator=(const thread_list&) = delete;

    [[nodiscard]] const kinfo_proc* begin() const noexcept { return threads_; }

    [[nodiscard]] const kinfo_proc* end() const noexcept { return threads_ + count_; }

    [[nodiscard]] std::size_t count() const noexcept { return count_; }

private:
    kinfo_proc* threads_ = nullptr;
    std::size_t mapped_ = 0;
    std::size_t count_ = 0;
};

}  // namespace

int64_t thread_cpu_ns(int tid) noexcept {
    clockid_t clock{};
    timespec used{};
    if (clock_getcpuclockid2(tid, CPUCLOCK_WHICH_TID, &clock) != 0 || clock_gettime(clock, &used) != 0) return -1;
    return int64_t{used.tv_sec} * 1'000'000'000 + used.tv_nsec;
}

bool thread_wants_cpu(int tid) noexcept {
    const thread_list threads;
    for (const kinfo_proc& t : threads) {
        if (t.ki_tid == tid) return t.ki_stat == SRUN;
    }
    return false;
}

bool for_each_thread(bool (*each)(void* closure, int tid) noexcept, void* closure) noexcept {
    const thread_list threads;
    for (const kinfo_proc& t : threads) {
        if (!each(closure, t.ki_tid)) break;
    }
    return threads.count() != 0;
}

unsigned thread_count() noexcept { return static_cast<unsigned>(thread_list().count()); }

}  // namespace weft::detail::os
