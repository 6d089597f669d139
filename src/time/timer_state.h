// timer_state.h: what a weft::timer or weft::ticker is: an alarm, a channel, and what is to happen.
//
// One block of memory: this, the channel's slot, and the function, if there is one. The channel's lock guards all of it, and the
// channel's count of handles keeps it: those of the channel, that of the timer, and one for each call of the function that goes on.
//
// The alarm is in the queue of a P, under that queue's lock. Firing takes it out, drops that lock, and comes to fire(), which takes
// the channel's. In between the alarm is on its way. Whoever stops or resets the timer meanwhile leaves it there and only says so:
// fire() looks.
//
//      stopped ──start──▶ armed, placed ──fire──▶ stopped, or placed again if it has a period
//         ▲                  │      ▲
//         └───────stop───────┘      └─ reset: placed elsewhere; put off, or on its way, by fire()
//
//      armed   a tick or a call is to come                  the user's view: stop() and reset() return it
//      placed  the alarm is in a queue, or on its way        who sees that may use alarm.home: it cannot go before this is cleared
//      (armed and not placed: its time never comes)
//
// A runtime that stops takes all alarms out of its queues and lets them come to fire() without an M, which ends them. So what is
// placed refers to a runtime that exists, and what is not refers to none.
//
// A timer with a function holds a G for the call, not started yet, as long as it is placed. Firing starts it, and cannot fail.
//
// Invariants: I1. placed implies that alarm.home, where and starts are those of one runtime, which exists while the lock is held.
//             I2. A timer with a function has starts exactly while it is placed.
//             I3. The block is freed by who drops the last handle; if the alarm is on its way then, by fire().
// Locks:      the channel's, then that of a timer queue.
// Who:        any thread.
// See:        docs/timers.md, test/model/timer_model.cc
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

#include <weft/detail/chan_state.h>
#include <weft/detail/source_location.h>
#include <weft/timer.h>

#include "sched/timer_queue.h"

namespace weft::detail {

struct scheduler;
struct G;

// What an alarm finds when it comes to fire().
enum class arrival : uint8_t {
    due,
    early,     // put off, or reset on its way
    stopped,   // on its way, or with its runtime
    orphaned,  // nobody has a handle
};

struct timer_state {
    using channel_state = chan_state<tick>;
    static constexpr std::size_t buffered = 1;

    timer_state(const timed_function* f, source_location from) noexcept;
    timer_state(const timer_state&) = delete;
    timer_state& operator=(const timer_state&) = delete;

    timer alarm;  // guarded by the lock of its queue, while placed

    // Guarded by the channel's lock.
    guarded<bool> armed = false;
    guarded<bool> placed = false;
    guarded<bool> orphaned = false;      // no handle is left: fire() frees it
    guarded<bool> keeps_itself = false;  // detached: the call that is to come has a handle
    guarded<int64_t> due_ns = never;     // while armed
    guarded<int64_t> alarm_ns =
        never;  // while placed: when the alarm goes off; not later than due_ns, unless it is on its way
    guarded<int64_t> period_ns = 0;  // 0: once
    guarded<scheduler*> where = nullptr;
    guarded<G*> starts = nullptr;

    // Immutable.
    const timed_function* const function;
    const source_location made_at;

    alignas(channel_state) std::byte channel_block[channel_state::block_size(buffered)];

    // With the channel's lock held. runs: its runtime does.
    [[nodiscard]] arrival arrived(bool runs, int64_t now_ns) const noexcept {
        if (orphaned) return arrival::orphaned;
        if (!runs || !armed) return arrival::stopped;
        return due_ns > now_ns ? arrival::early : arrival::due;
    }

    // With both locks held, and the alarm placed.
    [[nodiscard]] bool is_on_its_way() const noexcept { return !alarm.queued; }

    // With the channel's lock held, and no handle left. True: the alarm is on its way, and will free the block.
    [[nodiscard]] bool leave_to_alarm() noexcept {
        orphaned = placed;
        return placed;
    }

    channel_state& channel() noexcept { return *std::launder(reinterpret_cast<channel_state*>(channel_block)); }

    static timer_state& of(chan_core& channel) noexcept {
        auto* block = reinterpret_cast<std::byte*>(static_cast<channel_state*>(&channel));
        return *reinterpret_cast<timer_state*>(block - offsetof(timer_state, channel_block));
    }

    static timer_state& of(timer& alarm) noexcept { return reinterpret_cast<timer_state&>(alarm); }
};

static_assert(offsetof(timer_state, alarm) == 0);

// Where an alarm is to go: a runtime, and for a function a G of it.
struct timer_place {
    scheduler* home = nullptr;
    G* g = nullptr;
};

// ---- Of timers with a function: after_func.cc.

// A G that will call t's function; of the caller's runtime, or of the default one, which is then pinned. Throws.
[[nodiscard]] timer_place prepare_call(timer_state& t);

// Gives g back, which was never started. Its runtime is pinned if the caller is no G of it.
void give_back_call(G* g) noexcept;

// Starts t's call. The lock is held, and freed. In the runtime as m.
void start_call(M* m, timer_state& t, int64_t now_ns) noexcept;

}  // namespace weft::detail
