// timer_state.h: the state of a weft::timer or weft::ticker: an alarm, a channel, and the action.
//
// One block of memory holds all of it, guarded by the channel's lock and kept alive by its handle
// count. Handles are those of the channel, that of the timer, and one per running call.
//
// A due alarm that was removed from its queue is on its way until fire() has the channel's lock. A
// stop or reset then only records the change.
//
//      stopped ──start──▶ armed, placed ──fire──▶ stopped, or placed again if it has a period
//         ▲                  │      ▲
//         └───────stop───────┘      └─ reset: placed elsewhere; put off, or on its way, by fire()
//
//      armed   a tick or a call is due: the user's view, which stop() and reset() return
//      placed  the alarm is in a queue, or on its way, and alarm.home may be used
//      (armed and not placed: the time never comes)
//
// Invariants: I1. placed implies that alarm.home and where are those of one runtime, which exists
//                 while the lock is held.
//             I2. A call takes its G when it fires. Without memory for it, the alarm is placed
//                 again for a moment later, and the timer stays armed.
//             I3. Dropping the last handle frees the block; if the alarm is on its way then, fire()
//                 does.
// Locks:      the channel's, then that of a timer queue.
// Threads:    any thread.
// See:        docs/timers.md, test/model/timer_model.cc
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

#include <weft/detail/chan_state.h>
#include <weft/detail/source_location.h>
#include <weft/labels.h>
#include <weft/timer.h>

#include "sched/timer_queue.h"

namespace weft::detail {

struct scheduler;

// How an alarm enters fire().
enum class arrival : uint8_t {
    due,
    early,     // put off, or reset on its way
    stopped,   // on its way, or with its runtime
    orphaned,  // no handle is left
};

// The thread that made a timer, for the green threads of its calls.
struct timer_maker {
    uint64_t id = 0;  // 0: a plain thread
    label_set labels;

    // The caller, if f will be called.
    [[nodiscard]] static timer_maker of_calls(const timed_function* f) noexcept;
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
    guarded<bool> orphaned = false;      // fire() frees it
    guarded<bool> keeps_itself = false;  // detached: the pending call has a handle
    guarded<int64_t> due_ns = never;     // while armed
    guarded<int64_t> alarm_ns = never;   // while placed; not later than due_ns, unless it is on its way
    guarded<int64_t> period_ns = 0;      // 0: once
    guarded<scheduler*> where = nullptr;

    // Immutable. The last two are for the green thread of a call.
    const timed_function* const function;
    const source_location made_at;
    const timer_maker maker;

    alignas(channel_state) std::byte channel_block[channel_state::block_size(buffered)];

    // Requires the channel's lock. runs: its runtime runs.
    [[nodiscard]] arrival arrived(bool runs, int64_t now_ns) const noexcept {
        if (orphaned) return arrival::orphaned;
        if (!runs || !armed) return arrival::stopped;
        return due_ns > now_ns ? arrival::early : arrival::due;
    }

    // Requires both locks. The alarm is placed.
    [[nodiscard]] bool is_on_its_way() const noexcept { return !alarm.queued; }

    // Requires the channel's lock. No handle is left. True: the alarm will free the block (I3).
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

// ---- Timers with a function: after_func.cc. On g0 of m.

// Whether there is a G for a call.
[[nodiscard]] bool can_call(M* m) noexcept;

// Requires can_call() and the lock, which it releases.
void start_call(M* m, timer_state& t, int64_t now_ns) noexcept WEFT_RELEASE(t.channel().lock);

}  // namespace weft::detail
