// preempt.h: makes a green thread that computes yield.
//
// Otherwise a G yields only where it waits, yields or ends, and the Gs queued behind it wait. At
// the end of a time slice the runtime tries three ways, in this order:
//
//   1  the flag: checked by checkpoint(), any switch, and each function compiled by
//      weft_instrument()
//   2  the signal: interrupts a G in code marked by weft::preemptible
//   3  the retake (docs/retake.md): the G keeps its thread and loses its P
//
// This file has 1 and 2. request_preempt():
//
//   Q1  owner: {M} → {M, asked, preempt}, like a thief (p.h); M keeps the P until Q5
//   Q2  M.slice_over = the slice that must end: a G in a later slice ignores it
//   Q3  M.preempt_word = all ones: instrumented code on the thread calls the hook. Under
//       threads_lock: when the runtime stops, M ends with its P, and the word with its thread
//   Q4  M.signals: {open} → {in_flight}; on success sends the signal, then {in_flight} → {sent}
//       unless it has arrived
//   Q5  clears asked
//
// Any prologue in instrumented code may call the hook (run_preempt_hook). It returns at once if the
// caller is not a G on its own stack, is in the runtime, is between locking and unlocking a lock of
// the runtime (detail/hold.h), unwinds an exception, or has little stack left. It does not throw or
// change errno; its caller in assembly keeps every register.
//
// Only an M whose gate is open gets the signal. M shuts the gate itself, after waiting for a signal
// in flight:
//
//      open ──Q4──▶ in_flight ──Q4──▶ sent ──G3──▶ awaited     scope begins, marked G resumes:    shut → open
//        ▲              │              │              │        scope ends, marked G leaves,
//        └───handler────┴───handler────┴───handler────┘        or makes a blocking call:      G1  open → shut
//                                                                                             G2  in_flight: waits for the sender
//                                                                                             G3  sent → awaited, a system call; still
//                                                                                                 awaited: it is lost, awaited → shut
//
// So system calls outside marked code never see EINTR from this signal, and a thread that never
// runs marked code keeps it blocked.
//
// Lost signals. Code on the thread may block, ignore or handle the signal itself; then a wait for
// it has no end. A signal to a thread that accepts it arrives before the thread's next system call
// returns: G3 makes one. (awaited comes first: without it, G3 could take the next signal for this
// one.) After a loss, the gate opens only after a check that a signal would arrive (G4). A blocked
// signal stays pending; once unblocked it finds the gate not open, and the handler ignores it.
//
// Both ways end in yield_preempted(): the G goes to the tail of the global queue, so that others
// run on every P. Its P goes to another M with the next G. The G is kept on its M until it next
// leaves it by itself (pin.h): it may hold the address of a thread-local in a register, because the
// compiler expects no change of thread there.
//
// Rejected:
// - Patching instrumented code (-fpatchable-function-entry): for all threads, not one.
// - A flag in the P: each check needs the P, and whether the code still has it.
// - Signals for all code, as in Go: C++ code holds locks of malloc.
// - Signals blocked outside marked code: two system calls for each scope.
// - Leaving the kept M its P: all wait for it again.
//
// Invariants: I1. Only M's own thread changes M.signals from or to shut.
//             I2. While a marked G runs, special::interruptible is set and M's gate is not shut,
//                 except while the G changes it, in blocking calls, and on threads that signals do
//                 not reach.
//             I3. Only the thread that changed open to in_flight sends a signal, before Q5 or when
//                 no other thread asks (interrupt_all). Only the handler or a failed send changes
//                 it back. So sent refers to one's own signal: the next sender waits for asked.
// Ordering:   the owner reads the words of Q2 and Q3 after Q3's store: release and acquire. A check
//             that comes too early sees nothing; the next one does.
// Threads:    request_preempt: any; the others: M's own.
// See:        docs/preemption.md, test/model/signal_gate.pml
#pragma once

#include "sched/scheduler.h"

namespace weft::detail {

// Asks the G that runs on p, if any, to yield. The caller has pinned s, or is part of it.
void request_preempt(scheduler& s, P& p) noexcept;

// Interrupts marked and instrumented code on all Ms of s, which stops and whose monitor has ended.
// Nothing else reaches Ms without a P. An M that is in the runtime misses it: repeat until all Ms
// have ended.
void interrupt_all(scheduler& s) noexcept;

// Queues the G that runs on m in the global queue if others can run; it resumes on m. Outside the
// runtime. by_signal: how it is counted.
void yield_preempted(M* m, bool by_signal) noexcept;

// Marks the G that runs on m as interruptible anywhere, or ends that. begin: returns false if it
// was marked; otherwise yields if that was requested before, and may return on another M.
bool begin_interruptible(M* m) noexcept;
void end_interruptible(M* m) noexcept;

// For a marked G: open when it comes to m or ends a blocking call; shut when it leaves m or begins
// one.
void open_gate(M* m) noexcept;
void shut_gate(M* m) noexcept;

}  // namespace weft::detail
