// m.h: M, an OS thread that runs green threads.
//
// An M needs a P to run Gs. It looks for work and sleeps on its own stack, g0.
//
// Threads: plain members are the M's own, or immutable, unless marked.
// See:     docs/context_switch.md
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

class event_ring;
struct G;
struct P;
struct scheduler;
struct waiter;

// What the next code on this M does for the G that has left: switch.h.
struct after_switch {
    // …_outside: the M has lost its P.
    enum class kind : uint8_t {
        nothing,
        requeue,
        park,
        park_claimable,
        die,
        park_claimable_many,
        requeue_outside,
        arrive,  // requeue_outside, to the injected queue
        die_outside,
        claimed,  // its wait is already over, and g is being made runnable
    };
    kind what = kind::nothing;
    uint32_t bits = 0;  // park: the object's bits …

    union {
        guarded_word* lock = nullptr;  // … and its lock, freed with these bits
        const held_lock* locks;        // park_claimable_many: bits locks, in g's frame
    };

    claim_word* claim = nullptr;  // park_claimable…: published before the unlock
    G* g = nullptr;
};

// Whether the M may be sent the preemption signal: preempt.h.
namespace signal_gate {
inline constexpr uint32_t shut = 0;       // not in marked code
inline constexpr uint32_t open = 1;       // in marked code
inline constexpr uint32_t in_flight = 2;  // being sent: do not shut
inline constexpr uint32_t sent = 3;       // not arrived yet
inline constexpr uint32_t awaited = 4;    // the thread checks whether it is lost
}  // namespace signal_gate

struct alignas(cache_line) M {
    // Touched by a switch. Owner only.
    G* g = nullptr;  // the running G; nullptr on g0
    // On g0: the P it holds. Else the last P; its owner word says if the M still holds it.
    P* p = nullptr;
    after_switch after;
    eh_state* eh = nullptr;
    // Set by the owner around each runtime entry; read before a P is taken.
    atomic<uint32_t> in_runtime{0};
    atomic<bool> in_call{false};  // in a blocking call; owner writes, monitor reads
    atomic<uint64_t> calls{0};    // blocking calls so far; as above
    bool has_place = false;       // this call has one of scheduler.call_permits; owner only
    G* lent_by = nullptr;         // the G in that call; then g is nullptr. Owner only, as those below
    bool spinning = false;        // searches for work, counted in idle.spinning
    G* picked = nullptr;          // the G that g0 runs next
    G* pinned = nullptr;          // runs only this G; nullptr: any

    alignas(cache_line) run_context_t g0{};
    eh_state g0_eh;
    fiber g0_fiber;
    scheduler* home = nullptr;
    prng random{1};
    uint32_t index = 0;
    atomic<int> thread_id{0};  // system id; 0: not started. Written by the thread
    os::thread_id thread = 0;
    bool is_main = false;  // M0
    void* alternate_stack = nullptr;
    int slack_before_ns = 0;           // its timer slack before it was adopted
    bool short_slices_before = false;  // as above

    // checkpoint(): the slice it last saw, since when, and when to read the clock.
    uint64_t checkpoint_slice = 0;
    uint64_t checkpoint_clock_due = 0;
    int64_t slice_began_ns = 0;

    // yield()s that found no other G. Owner writes, watchdog reads.
    atomic<uint64_t> empty_yields{0};

    uint32_t pins = 0;            // weft::pin objects of pinned; 0: only kept
    atomic<bool> retired{false};  // its pinned G has ended, or it is surplus. Set by its thread

    // Preemption of its G: preempt.h.
    // Tested by instrumented code on this thread; nullptr: gone.
    atomic<uintptr_t>* preempt_word = nullptr;
    atomic<uint64_t> slice_over{0};               // P::slice() + 1 of the slice to end; by the thread that set asked
    atomic<uint32_t> signals{signal_gate::shut};  // a signal_gate
    bool signal_unblocked = false;                // owner only, as the next two
    bool signal_lost = false;                     // G3 of preempt.h
    hold* last_hold = nullptr;                    // the last begun on this thread; may have ended

    // Guarded by the idle lock while on an idle list.
    M* idle_next = nullptr;
    bool on_idle_list = false;
    bool coming = false;   // counted in idle.absent.coming
    int64_t alarm_ns = 0;  // timer deadline at which it wakes

    // How it lost its P; guarded by the idle lock.
    bool overran = false;
    bool has_long_slice = false;  // has longer kernel slices; must be undone

    // Set by another thread: the P to take, and the G to run first (nullptr: look for one). Written
    // before wake_m(); for the M of a pinned G under the idle lock: pin.h.
    P* next_p = nullptr;
    G* next_g = nullptr;
    note park;
    waiter* fetched = nullptr;  // from the poller, until made ready. Owner only

    // Placement of its thread: placement.h.
    const uint32_t* cpu_word = nullptr;  // its thread's; nullptr: gone. Guarded by threads_lock
    atomic<bool> is_hog{false};          // lost its P because it computed: set_hog_locked
    atomic<uint32_t> move_to{os::no_cpu};

    // Where its thread records events; nullptr: nowhere. Set by attach, cleared by its thread.
    atomic<event_ring*> events{nullptr};

    // The places whose in was called on its thread, and whose out was not: switch_hooks.h. Owner
    // writes.
    atomic<uint32_t> hooked{0};
    bool in_hook = false;  // owner only

    // Its thread will not touch the scheduler again.
    atomic<bool> has_ended{false};

    // The side that parts last frees the thread: the runtime by a join, or the thread by detaching
    // itself.
    enum class parted : uint8_t { nobody, thread, runtime, joined };
    atomic<parted> parting{parted::nobody};

    // False: the other side parted first.
    [[nodiscard]] bool part(parted who) noexcept {
        parted nobody = parted::nobody;
        return parting.compare_exchange_strong(nobody, who, acq_rel, acquire);  // sees what the other did before
    }

    // Any thread.
    [[nodiscard]] int tid() const noexcept { return thread_id.load(relaxed_count); }

    // The watchdog's: monitor only.
    struct {
        const G* g = nullptr;
        uint64_t id = 0;
        uint64_t tick = 0;
        uint64_t empty_yields = 0;
        int64_t since_ns = 0;
        bool reported = false;
    } watched;

    // Guarded by scheduler.threads_lock.
    M* all_next = nullptr;

    // Last seen in another P's run_next: steal_run_next.
    struct sighting {
        G* g = nullptr;
        uint64_t tick = 0;
        int64_t at_ns = 0;
    };

    sighting* sightings = nullptr;  // one per P
};

}  // namespace weft::detail
