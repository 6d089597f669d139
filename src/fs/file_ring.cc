// file_ring.cc: see file_ring.h.
#include "fs/file_ring.h"

#include <cerrno>
#include <new>

#include "base/assert.h"
#include "os/os.h"
#include "sched/scheduler.h"
#include "sched/switch.h"

namespace weft::detail {

namespace {

constexpr uint32_t rounds_max = 16;    // of one submitter; then other threads do without the ring
constexpr uint32_t refusals_max = 8;   // by the kernel in one round, when it is short of memory
constexpr int not_taken = -ECANCELED;  // for an operation that the kernel never saw

bool is_for_a_moment(int error) noexcept { return error == EAGAIN || error == EBUSY || error == EINTR; }

}  // namespace

struct file_ring::operation {
    spin_lock lock;
    // Guarded by lock.
    wait_queue queue;
    int result = 0;
    bool done = false;

    // Returns the waiter to make ready, or nullptr. After that the operation may be gone.
    [[nodiscard]] waiter* end(int r) noexcept {
        lock.lock();
        result = r;
        done = true;
        waiter* w = queue.pop_claimed();
        if (w != nullptr) w->next = nullptr;
        lock.unlock();
        return w;
    }

    [[nodiscard]] static operation& of(uint64_t tag) noexcept {
        return *reinterpret_cast<operation*>(tag);  // NOLINT(performance-no-int-to-ptr): what run() has put in
    }
};

std::unique_ptr<event_source> file_ring::make(int& fd) noexcept {
    if (os::env_number("RUN_IO_URING", 0, 1, 1) == 0) return nullptr;
    std::unique_ptr<file_ring> made(new (std::nothrow) file_ring);
    if (made == nullptr || made->ring_.open() != 0) return nullptr;
    fd = made->ring_.fd();
    return made;
}

file_ring* file_ring::of_caller() noexcept {
    const M* m = current_g_m();
    if (m == nullptr) return nullptr;
    return static_cast<file_ring*>(m->home->io.files(*m->home, &file_ring::make));
}

int file_ring::run(os::ring_request r) noexcept {
    operation mine;
    r.tag = reinterpret_cast<uint64_t>(&mine);
    if (!put(r)) return not_taken;
    ready_all(collect());  // data that was in memory is read by now
    mine.lock.lock();
    if (mine.done) {
        mine.lock.unlock();
    } else {
        waiter me;
        wait(mine.lock, {.me = me, .queue = mine.queue, .bits = 0, .reason = wait_reason::file_operation});
    }
    return mine.result;
}

// O1 and O2. Returns false if there is no room.
bool file_ring::put(const os::ring_request& r) noexcept {
    queueing_.lock();
    const bool tired = submitting_ && rounds_ >= rounds_max;
    const bool fits = under_way_.load(relaxed) < os::io_ring::entries;  // relaxed: grows only under the lock
    if (tired || !fits) {
        queueing_.unlock();
        return false;
    }
    under_way_.fetch_add(1, release);  // R1
    if (!ring_.push(r)) {
        under_way_.fetch_sub(1, relaxed);  // relaxed: F1 is about numbers
        queueing_.unlock();
        return false;
    }
    ++pending_;
    if (submitting_) {
        queueing_.unlock();
    } else {
        submit_locked();
    }
    return true;
}

// Requires the lock and releases it.
void file_ring::submit_locked() noexcept {
    submitting_ = true;
    rounds_ = 0;
    waiter* refused = nullptr;
    for (uint32_t refusals = 0; pending_ != 0; ++rounds_) {
        const uint32_t count = pending_;
        queueing_.unlock();
        const int taken = ring_.submit(count);
        if (taken <= 0) os::yield_thread();
        queueing_.lock();
        if (taken > 0) {
            WEFT_ASSERT(static_cast<uint32_t>(taken) <= pending_);
            pending_ -= static_cast<uint32_t>(taken);
            refusals = 0;
        } else if (++refusals > refusals_max || (taken < 0 && !is_for_a_moment(-taken))) {
            refused = take_all_back_locked();
        }
    }
    submitting_ = false;
    queueing_.unlock();
    ready_all(refused);
}

// The callers make the calls themselves.
waiter* file_ring::take_all_back_locked() noexcept {
    waiter* chain = nullptr;
    uint64_t tag = 0;
    while (ring_.take_back(tag)) {
        waiter* w = operation::of(tag).end(not_taken);
        under_way_.fetch_sub(1, relaxed);  // relaxed: F1 is about numbers
        if (w == nullptr) continue;
        w->next = chain;
        chain = w;
    }
    pending_ = 0;
    return chain;
}

waiter* file_ring::collect() noexcept {
    guarded<waiter*> first = nullptr;
    guarded<waiter*>* link = &first;
    fetching_.lock();
    os::ring_completion c{};
    while (ring_.pop(c)) {
        under_way_.fetch_sub(1, acquire);  // A1
        waiter* w = operation::of(c.tag).end(c.result);
        if (w == nullptr) continue;
        *link = w;
        link = &w->next;
    }
    fetching_.unlock();
    return first;
}

// The green threads will never run again, so the operations are not accessed.
void file_ring::end() noexcept {
    os::ring_completion c{};
    for (;;) {
        while (ring_.pop(c)) under_way_.fetch_sub(1, relaxed_alone);
        if (under_way_.load(relaxed_alone) == 0) return;
        ring_.await(1);
    }
}

}  // namespace weft::detail
