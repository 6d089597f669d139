// preempt.h: makes a green thread that computes give up its P at the end of a time slice.
//
// The runtime tries three ways, in this order:
//
//   1  the flag: checked by checkpoint(), any switch, and functions compiled by weft_instrument()
//   2  the signal: interrupts a G in code marked by weft::preemptible
//   3  the retake (docs/retake.md): the G keeps its thread and loses its P
//
// This file implements 1 and 2. request_preempt() takes these steps:
//
//   Q1  owner: {M} → {M, asked, preempt}, like a thief (p.h); M keeps the P until Q5
//   Q2  M.slice_over = the slice that must end: a later slice ignores it
//   Q3  M.preempt_word = all ones: instrumented code on the thread calls the hook. Under
//       threads_lock: in a stop, M ends with its P, and the word with its thread
//   Q4  M.signals: {open} → {in_flight}; on success sends the signal, then {in_flight} → {sent}
//       unless it has arrived
//   Q5  clears asked
//
// Any prologue in instrumented code may call the hook (run_preempt_hook). It returns at once if the
// caller is not a G on its own stack, is in the runtime, is inside one of the runtime's locks
// (detail/hold.h), unwinds an exception, or has little stack left. It keeps errno and does not
// throw; its caller in assembly keeps all registers.
//
// The signal goes only to an M whose gate is open. M shuts the gate, after waiting for a signal in
// flight:
//
//      open ──Q4──▶ in_flight ──Q4──▶ sent ──G3──▶ awaited     scope begins, marked G resumes:    shut → open
//        ▲              │              │              │        scope ends, marked G leaves,
//        └───handler────┴───handler────┴───handler────┘        or makes a blocking call:      G1  open → shut
//                                                                                             G2  in_flight: waits for the sender
//                                                                                             G3  sent → awaited, a system call; still
//                                                                                                 awaited: it is lost, awaited → shut
//
// So system calls outside marked code never see EINTR from this signal, and threads without marked
// code keep it blocked.
//
// Lost signals. Code on the thread may block, ignore or handle the signal; then it never comes. A
// thread that accepts signals gets a pending one before its next system call returns, so G3 makes
// one. (awaited comes first, else G3 could take the next signal for this one.) After a loss, the
// gate opens only if a check shows that a signal would arrive (G4). A blocked signal stays pending;
// when it arrives the gate is not open, and the handler ignores it.
//
// Both ways end in yield_preempted(). The G goes to the tail of the global queue, so that others
// run on every P. Its P goes to another M with the next G. The G is kept on its M until it next
// leaves by itself (pin.h), because the compiler may have the address of a thread-local in a
// register.
//
// Rejected, besides those in docs/preemption.md: With a flag in the P, each check would need the P,
// and whether it is still held. Blocking the signal outside marked code would cost two system calls
// for each scope. If the kept M held its P, all would wait for it again.
//
// Invariants: I1. Only M's own thread changes M.signals from or to shut.
//             I2. While a marked G runs, special::interruptible is set and M's gate is not shut,
//                 except while the G changes it, in blocking calls, and on threads that signals do
//                 not reach.
//             I3. Only the thread that changed open to in_flight sends, before Q5 or when no other
//                 thread asks (interrupt_all). Only the handler or a failed send changes it back.
//                 So sent is about one's own signal: the next sender waits for asked.
// Ordering:   the owner reads the words of Q2 and Q3 after Q3's store: release and acquire. An
//             early check sees nothing, the next one does.
// Threads:    request_preempt: any thread; the others: the M itself.
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

// Marks the G that runs on m as interruptible anywhere, or ends that. begin: false if it was
// marked; else yields if asked before, and may return on another M.
bool begin_interruptible(M* m) noexcept;
void end_interruptible(M* m) noexcept;

// For a marked G: open when it comes to m or ends a blocking call; shut when it leaves m or begins
// one.
void open_gate(M* m) noexcept;
void shut_gate(M* m) noexcept;

}  // namespace weft::detail
