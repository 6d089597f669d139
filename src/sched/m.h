// m.h: M, an OS thread that runs green threads.
//
// An M needs a P to run Gs. Its own stack, g0, is where it looks for work and sleeps. Gs switch among themselves without
// passing through g0; what must happen once the leaving G's registers are saved is left in after, for whoever runs next on the M.
//
// Who: the M's own thread, but for note, in_runtime (read by the retaker) and the idle link.
#pragma once

#include <cstdint>

#include <weft/detail/hold.h>
#include <weft/detail/wait.h>

#include "base/atomic.h"
#include "base/prng.h"
#include "context/context.h"
#include "context/eh_globals.h"
#include "context/sanitizer.h"
#include "os/cpu_affinity.h"
#include "os/note.h"
#include "os/os.h"

namespace weft::detail {

struct G;
struct P;
struct scheduler;
struct waiter;

// What the next code on this M does for the G that just left, whose context is now saved.
struct after_switch {
    // …_outside: on an M that has lost its P.
    enum class kind : uint8_t {
        nothing,
        requeue,
        park,
        park_claimable,
        die,
        park_claimable_many,
        requeue_outside,
        arrive,  // as requeue_outside, before others: see arrivals.h
        die_outside,
    };
    kind what = kind::nothing;
    uint32_t bits = 0;  // park: the object's bits …

    union {
        guarded_word* lock = nullptr;  // … and its lock, to be freed with them
        const held_lock* locks;        // park_claimable_many: as many as bits says, in the frame of g
    };

    claim_word* claim = nullptr;  // park_claimable…: published before that
    G* g = nullptr;
};

// Whether an M may be sent the signal that preempts its G.
namespace signal_gate {
inline constexpr uint32_t shut = 0;       // its G is not in marked code
inline constexpr uint32_t open = 1;       // it is
inline constexpr uint32_t in_flight = 2;  // somebody sends one, and the gate is not shut before that is done
inline constexpr uint32_t sent = 3;       // it was sent, and comes when the thread next leaves the kernel, or never
inline constexpr uint32_t awaited = 4;    // the thread is about to find out which
}  // namespace signal_gate

struct alignas(cache_line) M {
    // What a switch touches. Owner only.
    G* g = nullptr;  // the G that runs; nullptr on g0
    P* p =
        nullptr;  // on g0: the P that it holds. While a G runs: the last one; its owner word says whether it still holds it
    after_switch after;
    eh_state* eh = nullptr;  // this thread's exception state
    // Written by the owner around every runtime entry, read by whoever wants to take the P away.
    atomic<uint32_t> in_runtime{0};
    atomic<bool> in_call{false};  // in a declared blocking call; written by the owner, read by the monitor
    atomic<uint64_t> calls{0};    // such calls so far; as above
    bool has_place = false;       // that call has one of scheduler.call_places; owner only
    G* lent_by = nullptr;         // who is in that call; g is nullptr then. Owner only, like what follows
    bool spinning = false;        // looks for work and is counted in idle.spinning
    G* picked = nullptr;          // a G taken from the P's queue that g0 is to run
    G* pinned = nullptr;          // the only G it runs; nullptr: any

    alignas(cache_line) run_context_t g0{};
    eh_state g0_eh;
    fiber g0_fiber;
    scheduler* home = nullptr;
    prng random{1};
    uint32_t index = 0;
    atomic<int> thread_id{0};  // the system's number of its thread; 0: that has not begun. By its thread
    os::thread_id thread = 0;
    bool is_main = false;  // M0: the thread that called weft::main
    void* alternate_stack = nullptr;
    int slack_before_ns = 0;           // of its thread's timeouts, when it was adopted
    bool short_slices_before = false;  // likewise

    // checkpoint(): when it first saw this time slice, and when it looks at the clock again.
    uint64_t checkpoint_slice = 0;
    uint64_t checkpoint_clock_due = 0;
    int64_t slice_began_ns = 0;

    // yield()s that found nobody else to run: no schedules. Written by the owner, read by the watchdog.
    atomic<uint64_t> vain_yields{0};

    uint32_t pins = 0;            // how many weft::pin objects of pinned there are; 0: it is merely kept
    atomic<bool> retired{false};  // its pinned G has ended, or it is one too many: it ends, too. By its own thread

    // Preemption of its G, see preempt.h.
    atomic<uintptr_t>* preempt_word =
        nullptr;  // what instrumented code on this thread looks at; nullptr: it is not there. See interrupt_all
    atomic<uint64_t> slice_over{0};  // the time slice, P::slice() + 1, that is to end; by the thread that has set asked
    atomic<uint32_t> signals{signal_gate::shut};  // whether it may be sent a signal
    bool signal_unblocked = false;                // owner only, as the next two
    bool signal_lost = false;                     // one that was sent has not come: G3 of preempt.h
    hold* last_hold = nullptr;                    // the last one begun on this thread; may be gone

    // Guarded by idle.lock while on a list of idle Ms.
    M* idle_next = nullptr;
    bool on_idle_list = false;
    bool coming = false;   // counted in idle.coming
    int64_t alarm_ns = 0;  // by which deadline of a timer it wakes

    bool served_alone = false;  // came from the poller with events while no P ran: idle.h. Owner only

    // How it has lost its P; guarded by idle.lock.
    bool overran = false;         // its time slice was over
    bool has_long_slice = false;  // the system lets it run for longer at once since; to be taken back
    bool stands_by = false;       // has just come back from a call without a P: idle.h. Owner only

    // What others want it to do: with which P, and which G first (nullptr: it is to look for one). Written before wake_m(), or, for the
    // M of a pinned G, under idle.lock; see pin.h.
    P* next_p = nullptr;
    G* next_g = nullptr;
    note park;
    waiter* fetched = nullptr;  // what it has brought back from the poller, until it is made ready. Owner only

    // Where its thread is, see placement.h.
    const uint32_t* cpu_word = nullptr;    // the thread's; nullptr: it is not there. Guarded by threads_lock
    atomic<bool> is_hog{false};            // has lost its P because it computed; see set_hog_locked
    atomic<uint32_t> move_to{os::no_cpu};  // the CPU that its thread is to move to

    // Its thread will not touch the scheduler any more.
    atomic<bool> has_ended{false};

    // Who frees what the system keeps of its thread. Decided once, by who parts first: if it is the thread, which ends, the runtime joins it;
    // if it is a runtime that stops without it, the thread detaches itself when it ends, and nobody joins it.
    enum class parted : uint8_t { nobody, thread, runtime, joined };
    atomic<parted> parting{parted::nobody};

    // False: the other one has parted first.
    [[nodiscard]] bool part(parted who) noexcept {
        parted nobody = parted::nobody;
        return parting.compare_exchange_strong(nobody, who, acq_rel, acquire);  // what the other did before is seen
    }

    // Any thread.
    [[nodiscard]] int tid() const noexcept { return thread_id.load(relaxed); }  // relaxed: a number

    // What it was doing when the watchdog last looked. The monitor's.
    struct {
        const G* g = nullptr;
        uint64_t id = 0;
        uint64_t tick = 0;
        uint64_t vain_yields = 0;
        int64_t since_ns = 0;
        bool reported = false;
    } watched;

    // All Ms of the runtime; guarded by scheduler.threads_lock.
    M* all_next = nullptr;

    // What this M saw of other Ps' run_next when it last looked, to tell a stale one from a hand-off in flight.
    struct sighting {
        G* g = nullptr;
        uint64_t tick = 0;
        int64_t at_ns = 0;
    };

    sighting* sightings = nullptr;  // one per P
};

}  // namespace weft::detail
