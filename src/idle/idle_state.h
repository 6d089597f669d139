// idle_state.h: the state of the idle protocol (idle.h), and the guard under which it changes.
//
// Pushes read `wanted` without the lock. Any change of the state may change it, so only an
// idle_guard can hold the lock, and its unlock() publishes the word.
//
// Invariants: I1. spinning counts the Ms with M::spinning set; each holds a P, or has been promised
//                 one in next_p.
//             I2. Whenever the lock is free, wanted::an_m is set exactly if a P is idle, no M spins
//                 and there is no near sentinel; wanted::monitor, if the monitor is dormant.
//             I3. An M on a list holds no P. The thread that removes it hands it a P or a request,
//                 and wakes it; or is that M itself, after a timeout.
// Locks:      lock (leaf).
// See:        docs/idle.md
#pragma once

#include <bit>
#include <cstdint>

#include <weft/detail/spin_lock.h>
#include <weft/detail/wait.h>

#include "base/assert.h"
#include "base/atomic.h"
#include "base/ranked_lock.h"
#include "idle/poller_waiters.h"
#include "sched/procs.h"

namespace weft::detail {

struct M;

// Bits of wanted.
namespace wanted {
inline constexpr uint32_t an_m = 1;     // W3 of idle.h
inline constexpr uint32_t monitor = 2;  // the monitor is dormant: sysmon.h
}  // namespace wanted

// Counts are written under the lock and read without it.
inline void add_locked(atomic<uint32_t>& count, int change) noexcept {
    const uint32_t n = count.load(relaxed_locked) + static_cast<uint32_t>(change);
    WEFT_ASSERT(static_cast<int32_t>(n) >= 0);
    count.store(n, relaxed_locked);
}

// Guarded by the lock.
class idle_p_set {
public:
    // Any thread: a hint, exact under the lock or after F1.
    [[nodiscard]] uint32_t count() const noexcept { return count_.load(relaxed); }  // relaxed: a hint, or F1

    [[nodiscard]] bool has(uint32_t p) const noexcept { return (words_[p / bits] >> (p % bits) & 1) != 0; }

    void put(uint32_t p) noexcept {
        WEFT_ASSERT(!has(p));
        words_[p / bits] |= uint64_t{1} << (p % bits);
        add_locked(count_, 1);
    }

    // False: P number p is not idle.
    bool take(uint32_t p) noexcept {
        if (!has(p)) return false;
        words_[p / bits] &= ~(uint64_t{1} << (p % bits));
        add_locked(count_, -1);
        return true;
    }

    // Takes P number preferred if it is idle, else the first. Requires: count() is not 0.
    uint32_t take_any(uint32_t preferred) noexcept {
        if (preferred < procs_max && take(preferred)) return preferred;
        uint32_t word = 0;
        while (words_[word] == 0) ++word;
        const uint32_t p = word * bits + static_cast<uint32_t>(std::countr_zero(words_[word]));
        take(p);
        return p;
    }

private:
    static constexpr uint32_t bits = 64;

    uint64_t words_[procs_max / bits] = {};
    atomic<uint32_t> count_{0};
};

// Most recent first: their caches are warm, and surplus ones stay at the bottom and end.
struct idle_m_lists {
    M* any = nullptr;           // those that run any G
    M* pinned = nullptr;        // those whose pinned G is elsewhere: pin.h
    atomic<uint32_t> count{0};  // on both
};

// W2 of idle.h.
struct sentinel_role {
    M* m = nullptr;
    bool near = false;         // scans soon, because other Ps run
    int64_t until_ns = never;  // when it wakes at the latest; never without a sentinel
};

// Ms that are not idle and hold no P.
struct absent_ms {
    uint32_t unavailable = 0;  // on the list of pinned ones, or retired
    uint32_t coming = 0;       // made to have one idle, and not idle yet
    uint32_t without_p = 0;    // run a G without a P: retake.h
    uint32_t hogs = 0;         // of these, the ones that lost it because they computed: M::is_hog
};

// What the monitor tells others (sysmon.h).
struct monitor_note {
    bool dormant = false;
    bool polls = false;               // it was called because no M polls
    bool watches_deadlock = false;    // deadlock_watch.h
    atomic<int64_t> until_ns{never};  // while it is dormant: when it wakes at the latest
};

struct idle_state {
    alignas(cache_line) atomic<uint32_t> wanted{0};  // written under the lock, read by pushes

    alignas(cache_line) idle_p_set ps;
    atomic<uint32_t> spinning{0};
    idle_m_lists ms;
    sentinel_role sentinel;
    poller_waiters poller;
    absent_ms absent;
    M* retired_main = nullptr;    // the thread of weft::main, if it has retired: it waits for the end
    atomic<bool> lacks_m{false};  // W5: set until an M that runs any G parks
    monitor_note monitor;

    // For assertions in functions whose caller must hold an idle_guard.
    [[nodiscard]] bool is_locked() const noexcept { return lock_.is_locked(); }

private:
    friend class idle_guard;

    // I2.
    [[nodiscard]] uint32_t wanted_now() const noexcept {
        const bool near = sentinel.m != nullptr && sentinel.near;
        const bool an_m = ps.count() != 0 && spinning.load(relaxed_locked) == 0 && !near;
        return (an_m ? wanted::an_m : 0) | (monitor.dormant ? wanted::monitor : 0);
    }

    ranked_lock<lock_rank::idle> lock_;
};

// Holds the lock, and publishes wanted whenever it frees it (I2).
class WEFT_GUARD_CLASS idle_guard {
public:
    explicit idle_guard(idle_state& idle) noexcept WEFT_ACQUIRE(idle.lock_) WEFT_NO_THREAD_SAFETY_ANALYSIS
        : idle_(idle) {
        lock();
    }

    ~idle_guard() WEFT_RELEASE() WEFT_NO_THREAD_SAFETY_ANALYSIS {
        if (holds_) unlock();
    }

    idle_guard(const idle_guard&) = delete;
    idle_guard& operator=(const idle_guard&) = delete;

    void lock() noexcept WEFT_ACQUIRE() WEFT_NO_THREAD_SAFETY_ANALYSIS {
        WEFT_ASSERT(!holds_);
        idle_.lock_.lock();
        holds_ = true;
    }

    void unlock() noexcept WEFT_RELEASE() WEFT_NO_THREAD_SAFETY_ANALYSIS {
        WEFT_ASSERT(holds_);
        publish();
        holds_ = false;
        idle_.lock_.unlock();
    }

    // W3.
    [[nodiscard]] bool wants_m() const noexcept { return (idle_.wanted_now() & wanted::an_m) != 0; }

private:
    void publish() noexcept {
        const uint32_t now = idle_.wanted_now();
        // relaxed: F1 and F2. Stored only if it changes, because all pushes read its cache line.
        if (idle_.wanted.load(relaxed) != now) idle_.wanted.store(now, relaxed);
    }

    idle_state& idle_;
    bool holds_ = false;
};

}  // namespace weft::detail
