// preempt.h: makes a green thread that computes give up its P at the end of a time slice.
//
// This file implements ways 1 and 2 of docs/preemption.md: the flag, and the signal to marked code.
// request_preempt() takes these steps:
//
//   Q1  owner: {M} → {M, asked, preempt}, like a thief (p.h); M keeps the P until Q5
//   Q2  M.slice_over = the slice that must end: a later slice ignores it
//   Q3  M.preempt_word = all ones: instrumented code on the thread calls the hook. Under
//       threads_lock: in a stop, M ends with its P, and the word with its thread
//   Q4  M.signals: {open} → {in_flight}; on success sends the signal, then {in_flight} → {sent}
//       unless it has arrived
//   Q5  clears asked
//
// The hook (run_preempt_hook) returns at once where the G must not stop (may_stop). It keeps errno
// and does not throw; its caller in assembly keeps all registers.
//
// The signal goes only to an M whose gate is open. M opens it (shut → open) when a scope begins, a
// marked G resumes, or its blocking call ends. M shuts it when the scope ends, or the marked G
// leaves or makes a blocking call:
//
//      open ──Q4──▶ in_flight ──Q4──▶ sent ──G3──▶ awaited
//        ▲              │              │              │
//        └───handler────┴───handler────┴───handler────┘
//
//   G1  open → shut
//   G2  in_flight: waits for the sender
//   G3  sent → awaited, a system call; if still awaited, it is lost: awaited → shut
//   G4  after a loss, opens only if a check shows that a signal would arrive
//
// docs/preemption.md says what the gate is for, and how a signal is lost. A pending signal arrives
// before the next system call returns: hence G3. awaited comes first, else G3 could take the next
// signal for this one. A lost signal that arrives later finds the gate not open, and is ignored.
//
// Both ways end in yield_preempted(). The G is kept on its M (pin.h), and its P goes to another M
// with the next G.
//
// Rejected, besides those in docs/preemption.md:
//   - a flag in the P: each check would need the P, and whether it is still held
//   - blocking the signal outside marked code: two system calls for each scope
//   - the kept M holds its P: all would wait for it again
//
// Invariants: I1. Only M's own thread changes M.signals from or to shut.
//             I2. While a marked G runs, special::interruptible is set and M's gate is not shut,
//                 except while the G changes it, in blocking calls, and on threads that signals do
//                 not reach.
//             I3. Only the thread that changed open to in_flight sends, before Q5 or when no other
//                 thread asks (interrupt_all). Only the handler or a failed send changes it back.
//                 So sent is about one's own signal: the next sender waits for asked.
// Ordering:   Q2 pairs with slice_was_ended. Q3 pairs with the hook, which clears the word by an
//             exchange: if that reads Q3, the hook sees Q2; if not, the word stays set for the next
//             check.
// Threads:    request_preempt: any thread; interrupt_all: the thread that stops s; the others:
//             the M itself.
// See:        docs/preemption.md, test/model/signal_gate.pml
#pragma once

#include "sched/scheduler.h"

namespace weft::detail {

// Asks the G that runs on p, if any, to yield. The caller has pinned s, or is part of it.
void request_preempt(scheduler& s, P& p) noexcept;

// s stops, and its monitor has ended: interrupts marked and instrumented code on all its Ms.
// Nothing else reaches Ms without a P. An M in the runtime misses it: repeat until all Ms have
// ended.
void interrupt_all(scheduler& s) noexcept;

// Moves the G that runs on m to the global queue if others can run; it resumes on m. Outside the
// runtime. by_signal: how it is counted.
void yield_preempted(M* m, bool by_signal) noexcept;

// begin: false if the G was marked; else yields if asked before, and may return on another M.
bool begin_interruptible(M* m) noexcept;
void end_interruptible(M* m) noexcept;

// For a marked G: open when it comes to m or ends a blocking call; shut when it leaves m or begins
// one.
void open_gate(M* m) noexcept;
void shut_gate(M* m) noexcept;

}  // namespace weft::detail
