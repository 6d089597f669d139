// preempt.h: asking a green thread that computes to let others run.
//
// The problem. A G gives way where it waits, yields or ends. One that computes for a second does none of it, and those queued behind it
// wait. There are three answers, from the gentlest to the one that always works; at the end of a time slice they are tried in this order:
//
//   1  the flag: the G is asked, and gives way at the next place where it looks: checkpoint(), any switch, and each function
//      that was compiled by weft_instrument()
//   2  the signal: a G in code marked by weft::preemptible is interrupted where it is
//   3  the retake (docs/retake.md): the G keeps its thread and loses its P
//
// This file is 1 and 2. request_preempt() does the asking:
//
//   Q1  owner: {M} → {M, asked, preempt}: as a thief (p.h); M cannot lose the P before Q5
//   Q2  M.slice_over = the time slice that is to end: a G that looks in a later slice knows that it is not meant
//   Q3  M.preempt_word = all ones: instrumented code on that thread calls the hook. Under the lock of the threads: when its runtime stops,
//       M ends with its P, and the word, which is the thread's, with it
//   Q4  M.signals: {open} → {in_flight}; if that succeeds, the signal is sent, and if it has not come yet, {in_flight} → {sent}
//   Q5  asked is cleared
//
// The hook (run_preempt_hook) is called out of the blue: from a prologue anywhere in instrumented code. It returns at once if the caller
// is no G on its own stack, is in the runtime, is between taking and freeing one of the runtime's locks (detail/hold.h), unwinds
// an exception, or has little stack left. It neither throws nor changes errno, and its caller in assembly keeps every register.
//
// The signal is only for an M whose gate is open, and the gate is shut by the M itself, which waits while one is in flight:
//
//      open ──Q4──▶ in_flight ──Q4──▶ sent ──G3──▶ awaited     scope begins, marked G resumes:    shut → open
//        ▲              │              │              │        scope ends, marked G leaves,
//        └───handler────┴───handler────┴───handler────┘        or makes a declared call:      G1  open → shut
//                                                                                             G2  in_flight: waits for the sender
//                                                                                             G3  sent → awaited, a system call; still
//                                                                                                 awaited: it is lost, awaited → shut
//
// So no system call outside of marked code ever sees EINTR because of us, and a thread that never runs such code keeps the signal blocked.
//
// Lost signals. The signal may be blocked by code that runs on this thread, or be ignored, or be handled by somebody else. None of it is
// ours to forbid, and whoever waited for such a signal would wait for ever. What was sent to a thread that takes it comes before the thread
// returns from its next system call: so G3 makes one, and knows. (It says so first: else it could take the next signal, sent when this one
// had come, for this one.) From then on the gate is opened only after a look whether a signal would come (G4). A blocked one stays pending
// and comes when it is let in: the gate is not open then, and the handler forgets it.
//
// Both end in yield_preempted(): the G goes to the tail of the scheduler's queue, so that others have their turn on every P, and is kept
// on its M until it next leaves it by itself (pin.h): it was stopped where the compiler expects no change of thread, and may have
// the address of a thread-local in a register. Its P goes with the next G to another M.
//
// Rejected. Writing to instrumented code, as -fpatchable-function-entry would have it: for all threads at once, not for one. A flag in the P:
// code would need the P, and whether it still has it, for each look. Signals for all code, as Go does: C++ code holds locks of malloc.
// Signals blocked outside of marked code: two system calls for each scope. Leaving the kept M its P: then all wait for it again.
//
// Invariants: I1. M.signals is changed from shut and to shut by M's own thread only.
//             I2. special::interruptible is set and M's gate is not shut while a marked G runs, but for moments in which the G changes it,
//                 declared calls, and threads to which signals do not come.
//             I3. A signal is sent only by who has changed open to in_flight, before Q5, or when nobody else asks any more
//                 (interrupt_all); only the handler, or a failed sending, changes it
//                 back. So sent is said of one's own signal: who would send the next one waits for asked.
// Ordering:   the words of Q2 and Q3 are read by the owner after Q3's store: release and acquire. A look that comes too early sees nothing,
//             and the next one does.
// Who:        request_preempt by any thread; the others by the M itself.
// See:        docs/preemption.md, test/model/signal_gate.pml
#pragma once

#include "sched/scheduler.h"

namespace weft::detail {

// Asks the G that runs on p to let others run. Nothing happens if none does. The caller has pinned s, or is part of it.
void request_preempt(scheduler& s, P& p) noexcept;

// s stops, and its monitor has ended: interrupts what is marked or instrumented on all Ms, those without a P, too, which nothing else
// reaches. One that was in the runtime just then does not hear it: to be called again until all have ended.
void interrupt_all(scheduler& s) noexcept;

// The G that runs on m lets others run, if there are any: by way of the scheduler's queue, and comes back on m. Outside of the runtime.
// by_signal: as what it is counted.
void yield_preempted(M* m, bool by_signal) noexcept;

// Marks the G that runs on m as interruptible anywhere, or as not so. begin: false if it was so before; otherwise it gives way if it was
// asked to before, and may come back on another M.
bool begin_interruptible(M* m) noexcept;
void end_interruptible(M* m) noexcept;

// For a marked G that comes to m, and that leaves it; or the same for a declared call of it.
void open_gate(M* m) noexcept;
void shut_gate(M* m) noexcept;

}  // namespace weft::detail
