// reaper.cc: see reaper.h.
#include "process/reaper.h"

#include <cerrno>
#include <new>
#include <vector>

#include <weft/detail/spin_lock.h>

#include "lifecycle/fork.h"
#include "netpoll/event_source.h"
#include "os/fd_calls.h"
#include "os/process_calls.h"

namespace weft::detail {

namespace {

// Children without a descriptor.
struct by_number {
    spin_lock lock;
    std::vector<int> pids;  // guarded by lock
};

by_number& numbers() {
    static auto* const it = new by_number;
    return *it;
}

// In the child of a fork, which may have come in the middle of a change: the old object is left
// alone.
void forget_numbers() noexcept { ::new (static_cast<void*>(&numbers())) by_number; }

class reaper final : public standing_source {
public:
    reaper() noexcept : standing_source(source_kind::children) {}

    // Takes ownership of fd, unless it returns an errno value.
    [[nodiscard]] int add(int fd) noexcept {
        const int set = open();
        if (set < 0) return -set;
        left_.fetch_add(1, relaxed);  // relaxed: watch() follows
        if (const int result = os::children_add(set, fd); result < 0) {
            left_.fetch_sub(1, relaxed_count);
            return -result;
        }
        static_cast<void>(watch(set));  // without a poller: reaped when the next one is added
        ready_all(collect());
        return 0;
    }

    waiter* collect() noexcept override {
        const int set = set_.load(acquire);  // pairs with open
        if (set < 0) return nullptr;
        for (int fd = os::children_next(set); fd >= 0; fd = os::children_next(set)) {
            left_.fetch_sub(1, relaxed_count);
            os::process_reap(fd, 0);
            os::fd_close(fd);
        }
        return nullptr;
    }

    bool is_wanted() noexcept override { return left_.load(relaxed) != 0; }  // relaxed: the lock of watch()

    // The set is the parent's; its processes are not our children.
    void forget() noexcept override {
        forget_numbers();
        opening_.reset_after_fork();
        left_.store(0, relaxed_alone);
        if (const int set = set_.exchange(-1, relaxed_alone); set >= 0) os::fd_close(set);
    }

private:
    [[nodiscard]] int open() noexcept {
        int set = set_.load(acquire);  // as collect
        if (set >= 0) return set;
        opening_.lock();
        set = set_.load(relaxed_locked);
        if (set < 0) {
            install_fork_handler();
            set = os::children_make();
            if (set >= 0) set_.store(set, release);  // pairs with collect
        }
        opening_.unlock();
        return set;
    }

    atomic<int> set_{-1};
    atomic<uint32_t> left_{0};  // how many are in the set
    spin_lock opening_;
};

// Not destroyed: children may outlive all static objects.
reaper& the_reaper() {
    static auto* const it = new reaper;
    return *it;
}

}  // namespace

void reap_later(int descriptor, int pid) noexcept {
    reap_known();
    if (descriptor >= 0) {
        if (the_reaper().add(descriptor) == 0) return;
        os::fd_close(descriptor);
    }
    by_number& all = numbers();
    all.lock.lock();
    try {
        all.pids.push_back(pid);
    } catch (const std::bad_alloc&) {}  // it stays a zombie, which only occupies its number
    all.lock.unlock();
}

void reap_known() noexcept {
    by_number& all = numbers();
    all.lock.lock();
    std::erase_if(all.pids, [](int pid) {
        os::process_end ignored{};
        const int result = os::process_look(-1, pid, ignored);
        if (result == 0) os::process_reap(-1, pid);
        return result != -EAGAIN;
    });
    all.lock.unlock();
}

}  // namespace weft::detail
