// select_case.h: the cases of a select, for the untyped part that chooses and waits.
//
// A select looks at its cases without a lock first, and tries one of those that seem ready, chosen at random. Only if none is does it
// take the locks of all its objects, in the order of their addresses (L7), look at all of them once more, at one instant, and
// either gives up, or links a waiter into each queue and parks. The locks are freed once it is parked: so whoever finds one of
// the waiters finds a select that can be woken. Losers are unlinked one by one, each in O(1).
//
// What a case is about is told by a table of functions, so that anything with a guarded_word and a wait_queue can be one: a channel, a
// future, an event, a file descriptor.
//
// Rejected. Locking everything always (Go): a select with a ready case would pay for all of them. Polling, or a helper that waits for
// each case: costs while nothing happens.
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

// How one kind of case works.
struct select_ops {
    // Whether begin() would do something. Without the lock: a hint.
    bool (*seems_ready)(const select_case& c) noexcept;
    // Under the lock, which had bits: does what can be done without waiting. False: nothing can.
    bool (*begin)(select_case& c, uint32_t bits) noexcept;
    // After the lock was freed, if begin() left a partner: hands over, and makes it ready. May be nullptr if it never does.
    void (*finish)(select_case& c) noexcept;
    // Set in the object's bits while a waiter is linked.
    uint32_t waiting_bits;
    // After begin() under the lock, or a wait, has ended with this case, without the lock: whether it can happen. False: the select goes on as if
    // it had not. nullptr: always. Such cases set waits_for_files.
    bool (*confirm)(select_case& c) noexcept = nullptr;
};

// One case. Lies still while the select goes on.
struct select_case {
    waiter w;  // w.slot, w.ok: as for any wait
    const select_ops* ops = nullptr;
    void* object = nullptr;        // nullptr: never ready
    guarded_word* lock = nullptr;  // of the object
    wait_queue* queue = nullptr;
    waiter* partner = nullptr;  // whose wait begin() has won
};

inline constexpr std::size_t no_case = (std::numeric_limits<std::size_t>::max)();

// A select, as the untyped part sees it. locks: room for as many as there are cases.
struct select_request {
    select_case* cases;
    std::size_t count;
    held_lock* locks;
    int64_t deadline_ns = never;
    std::size_t deadline_case = no_case;
    std::size_t otherwise_case = no_case;  // what happens if nothing is ready
    std::size_t cancel_case = no_case;     // what happens on cancellation, instead of an exception
    bool in_order = false;                 // the first that is ready, not any
    bool waits_for_files = false;          // a case can be woken from outside, and is to be confirmed
    std::size_t sorted_locks = 0;          // locks holds that many, sorted and each once; 0: not yet
};

// Does one case; returns which. Throws cancelled or timed_out. Channel cases: w.ok tells whether a value moved.
[[nodiscard]] std::size_t select_among(select_request& request);

// Puts the locks of the cases into request.locks, sorted and each once. For requests that are used again.
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

// A send to one.
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
