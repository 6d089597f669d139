// select_case.h: the cases of a select, for the untyped part that chooses and waits.
//
// A select first checks its cases without a lock and tries one that seems ready, chosen at random.
// If none is ready, it takes the locks of all its objects, in the order of their addresses (L7),
// and checks all cases again at one instant. Then it gives up, or links a waiter into each queue
// and parks. The locks are released once it is parked, so a thread that finds one of the waiters
// can wake the select. Losing waiters are unlinked one by one, each in O(1).
//
// A table of functions describes each kind of case. So any object with a guarded_word and a
// wait_queue can be a case: a channel, a future, an event, a file descriptor.
//
// Rejected: Always locking everything (Go). A select with a ready case would pay for all its cases.
// Rejected: Polling, or a helper thread per case. Both cost while nothing happens.
//
// See: docs/select.md, test/model/select_model.cc
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

#include <weft/detail/chan_state.h>
#include <weft/detail/require.h>
#include <weft/detail/wait.h>

namespace weft::detail {

struct select_case;

// The operations of one kind of case.
struct select_ops {
    // Whether begin() would do something. Called without the lock: a hint.
    bool (*seems_ready)(const select_case& c) noexcept;
    // Does what can be done without waiting; returns false if nothing can. Called under the lock,
    // whose bits are passed.
    bool (*begin)(select_case& c, uint32_t bits) noexcept;
    // Hands over the value and makes the partner ready. Called after the lock is released, if
    // begin() left a partner. May be nullptr if begin() never does.
    void (*finish)(select_case& c) noexcept;
    // Set in the object's bits while a waiter is linked.
    uint32_t waiting_bits;
    // Whether the event of this case can really happen; if not, the select continues. nullptr:
    // always true. Called without the lock, after begin() or a wait has ended with this case. Cases
    // that have it set waits_for_files.
    bool (*confirm)(select_case& c) noexcept = nullptr;
};

// One case. Must not move while the select runs. Without an object, the rest is not looked at.
struct select_case {
    select_case() noexcept {}  // NOLINT: as a waiter

    waiter w;  // w.slot, w.ok: as for any wait
    const select_ops* ops;
    void* object = nullptr;  // nullptr: never ready
    guarded_word* lock;      // of the object
    wait_queue* queue;
    waiter* partner;  // set by begin() if that has won its wait; nullptr before
};

inline constexpr std::size_t no_case = (std::numeric_limits<std::size_t>::max)();

// A select, for the untyped part. locks: room for as many locks as there are cases.
struct select_request {
    select_case* cases;
    std::size_t count;
    held_lock* locks;
    int64_t deadline_ns = never;
    std::size_t deadline_case = no_case;
    std::size_t otherwise_case = no_case;  // chosen if nothing is ready
    std::size_t cancel_case = no_case;     // chosen on cancellation, instead of an exception
    bool in_order = false;                 // chooses the first ready case, not a random one
    bool waits_for_files = false;          // a case can be woken from outside the process and must be confirmed
    std::size_t sorted_locks = 0;          // how many locks are in locks, sorted, each once; 0: not yet sorted
};

// Performs one case and returns its index. Throws cancelled or timed_out. Channel cases: w.ok tells
// whether a value moved.
[[nodiscard]] std::size_t select_among(select_request& request);

// Puts the locks of the cases into request.locks, sorted, each once. For requests that are used
// again.
void sort_locks(select_request& request) noexcept;

// A receive from a channel of T.
template <typename T>
struct chan_recv_case {
    static bool seems_ready(const select_case& c) noexcept { return state(c).may_recv(); }

    static bool begin(select_case& c, uint32_t /*bits*/) noexcept {
        bool ok = false;
        const bool done = state(c).begin_recv(value(c), c.partner, ok);
        c.w.ok = done && ok;
        return done;
    }

    static void finish(select_case& c) noexcept { chan_state<T>::finish_recv(value(c), *c.partner); }

    [[gnu::visibility("hidden")]] static constexpr select_ops ops{&seems_ready, &begin, &finish, 0};

    static void prepare(select_case& c, chan_state<T>* s, std::optional<T>& into) noexcept {
        c.object = s;
        if (s == nullptr) return;
        c.ops = &ops;
        c.lock = &s->lock;
        c.queue = &s->receivers;
        c.w.slot = &into;
    }

private:
    static chan_state<T>& state(const select_case& c) noexcept { return *static_cast<chan_state<T>*>(c.object); }

    static std::optional<T>& value(select_case& c) noexcept { return *static_cast<std::optional<T>*>(c.w.slot); }
};

// A send to a channel of T.
template <typename T>
struct chan_send_case {
    static bool seems_ready(const select_case& c) noexcept { return state(c).may_send(); }

    static bool begin(select_case& c, uint32_t /*bits*/) noexcept {
        bool ok = false;
        const bool done = state(c).begin_send(value(c), c.partner, ok);
        c.w.ok = done && ok;
        return done;
    }

    static void finish(select_case& c) noexcept { chan_state<T>::finish_send(value(c), *c.partner); }

    [[gnu::visibility("hidden")]] static constexpr select_ops ops{&seems_ready, &begin, &finish, 0};

    static void prepare(select_case& c, chan_state<T>* s, T& from) noexcept {
        c.object = s;
        if (s == nullptr) return;
        c.ops = &ops;
        c.lock = &s->lock;
        c.queue = &s->senders;
        c.w.slot = &from;
    }

private:
    static chan_state<T>& state(const select_case& c) noexcept { return *static_cast<chan_state<T>*>(c.object); }

    static T& value(select_case& c) noexcept { return *static_cast<T*>(c.w.slot); }
};

}  // namespace weft::detail
