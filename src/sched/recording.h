// recording.h: which events the runtime records, and where (docs/recording.md).
//
// Nothing is recorded until a consumer begins. Then each M has a ring, and each G the bit
// special::traced. That bit leads each switch into switch_special, leave_special or enter_special,
// and each push of a runnable G by an M into push_apart, where the functions below are called. So
// these have no instruction more without the bit. push_class_outside tests it, and rarer events (a
// steal, a poll) ask whether their M has a ring.
//
// Several consumers read the same rings. The first one decides on their size. An M keeps its ring
// until its thread ends, because it may be about to write; then another M gets it, with the old
// events in it.
//
// The bit is set and cleared while Gs run and start: watched_bits.h.
//
// Rejected:
// - a test of a flag in each switch: two instructions, for ever
// - rings of Ps: a thread without a P records, too
//
// Locks:   those of recording; threads_lock (leaf), freezing.
// Threads: begin, end: any. record_…: as stated.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "base/atomic.h"
#include "base/ranked_lock.h"
#include "events/event_ring.h"
#include "sched/m.h"

namespace weft::detail {

struct G;
struct scheduler;

// A ring and its memory, in the list of its runtime.
struct recorded_thread {
    event_ring ring;
    recorded_thread* next;           // of all; immutable
    std::size_t mapped;              // bytes
    atomic<bool> is_outside{false};  // the one of threads without an M
    atomic<bool> in_use;             // an M, or the threads outside, write to it
};

// Shared by a scheduler and those that read its events, also after its end.
struct recording {
    explicit recording(scheduler* s) noexcept : of(s) {}

    ~recording();
    recording(const recording&) = delete;
    recording& operator=(const recording&) = delete;

    ranked_lock<lock_rank::procs> changing;   // one consumer begins or ends, or the scheduler ends
    scheduler* of WEFT_GUARDED_BY(changing);  // nullptr: it has ended
    uint32_t consumers WEFT_GUARDED_BY(changing) = 0;
    uint32_t tracers WEFT_GUARDED_BY(changing) = 0;  // these, and profiles of waits

    atomic<bool> on{false};           // written under it
    atomic<uint32_t> stack_every{0};  // one in so many waits is recorded with its stack; 0: none. Written under it

    ranked_lock<lock_rank::leaf> lock;
    uint64_t capacity WEFT_GUARDED_BY(lock) = 0;  // events of a ring
    atomic<recorded_thread*> rings{nullptr};      // the newest; written under lock
    atomic<uint64_t> without_ring{0};             // threads for which there was no memory

    ranked_lock<lock_rank::leaf> outside_lock;  // its holder writes to the ring of threads without an M
    event_ring* outside WEFT_GUARDED_BY(outside_lock) = nullptr;
};

// Begins to record for one more consumer. Each ring has at least that many events, if it is the
// first to begin; else as many as the others have. Returns 0 or an errno value.
[[nodiscard]] int begin_recording(recording& r, uint64_t events_per_thread) noexcept;
void end_recording(recording& r) noexcept;

// Records one in `every` waits with the stack of its G, until recording ends. If consumers want
// different numbers, the least counts.
void record_stacks(recording& r, uint32_t every) noexcept;

// Of the caller's scheduler, or of the default one, which is made if it does not exist. Throws as
// pin_default_scheduler.
[[nodiscard]] std::shared_ptr<recording> recording_of_caller();

// Its scheduler is being destroyed.
void leave_recording(recording& r) noexcept;

// ---- By m's own thread.

// m's thread has begun: gives it a ring if its runtime records. Others see m (set_words).
void begin_recording_of(M* m) noexcept;

// m's thread ends. Others no longer see m.
void end_recording_of(M* m) noexcept;

[[nodiscard]] inline bool has_ring(const M* m) noexcept {
    return m->events.load(relaxed) != nullptr;  // relaxed: record_event reads it again
}

[[gnu::cold]] void record_event(M* m, event_kind kind, uint8_t detail, uint64_t id, uint64_t argument) noexcept;

// The bytes of a string, after the event that has its size.
[[gnu::cold]] void record_text(M* m, std::string_view text) noexcept;

// from leaves m, as m->after says, and to runs on it; or only one of them.
void record_switch(M* m, const G& from, const G& to) noexcept;
void record_leave(M* m, const G& from) noexcept;
void record_run(M* m, const G& to) noexcept;

// The wait of g is over: perhaps its stack, before record_runnable. m: as for wait_observer::ends.
[[gnu::cold]] void record_stack(const M* m, const G& g) noexcept;

// g was made runnable by m: it starts, or its wait is over.
void record_runnable(M* m, const G& g) noexcept;

// m's G has a new name, or new labels.
[[gnu::cold]] void record_name(M* m, const G& g) noexcept;
[[gnu::cold]] void record_labels(M* m, const G& g) noexcept;

// ---- By any thread that keeps s.

[[gnu::cold]] void record_outside(
    scheduler& s, event_kind kind, uint8_t detail, uint64_t id, uint64_t argument) noexcept;

[[gnu::cold]] void record_counter_outside(scheduler& s, uint64_t name, uint64_t value) noexcept;
[[gnu::cold]] void record_log_outside(scheduler& s, std::string_view message) noexcept;

// How long threads of Ms have waited for a CPU. The monitor.
[[gnu::cold]] void record_cpu_delays(scheduler& s) noexcept;

// g was made runnable by a thread without a P of its scheduler.
[[gnu::cold]] void record_runnable_outside(const G& g) noexcept;

}  // namespace weft::detail
