/* signal_gate.pml: the gate for the signal that interrupts a marked green thread: Q4 and G1 to
 * G4 of src/handoff/preempt.h.
 *
 * One M runs through SCOPES scopes of marked code and the code between them. There are two
 * senders, one at a time, because they hold the bit asked. The system delivers a pending signal
 * that is not blocked at any moment, and at the latest before the thread returns from a system
 * call. Code on the thread may block the signal, and ignore it, at any place, MEDDLE times in
 * all. That is a system call too.
 *
 * Shown: outside of marked code, only the call that lets the signal in is interrupted. The M
 * leaves each scope, whatever happened to the signal. A signal to a thread that accepts it is
 * never given up. At most one signal is on its way.
 *
 * The model is sequentially consistent, because exchanges change all its words.
 */
/* spin: plain                       expect=ok   defs="-DMEDDLE=0" */
/* spin: meddled                     expect=ok   defs="-DMEDDLE=3" */
/* spin: fails                       expect=ok   defs="-DMEDDLE=2 -DSENDING_FAILS" */
/* spin: mutant_waits_for_ever       expect=fail defs="-DMEDDLE=1 -DMUTANT_WAITS_FOR_EVER" */
/* spin: mutant_gives_up_early       expect=fail defs="-DMEDDLE=0 -DMUTANT_GIVES_UP_EARLY" */
/* spin: mutant_no_system_call       expect=fail defs="-DMEDDLE=0 -DMUTANT_NO_SYSTEM_CALL" */
/* spin: mutant_not_said             expect=fail defs="-DMEDDLE=0 -DMUTANT_NOT_SAID" */
/* spin: mutant_said_late            expect=fail defs="-DMEDDLE=0 -DMUTANT_SAID_LATE" */
/* spin: mutant_not_looked           expect=fail defs="-DMEDDLE=2 -DMUTANT_NOT_LOOKED" */
/* spin: mutant_shut_blindly         expect=fail defs="-DMEDDLE=0 -DMUTANT_SHUT_BLINDLY" */
#define SCOPES 3
#define SENDS 2

#define SHUT 0
#define OPEN 1
#define IN_FLIGHT 2
#define SENT 3
#define AWAITED 4

byte gate = SHUT;
bit pending = 0;
byte meddle = MEDDLE;
bool blocked, ignored, asked;
bool outside = true;        /* outside of marked code, and of the runtime */
bool changes_mask;          /* the thread is in the call that does so */

/* The system, which runs the handler. */
active proctype system() {
end:
    do
    :: atomic { pending > 0 && !blocked ->
           pending = 0;
           assert(!outside || changes_mask);
           if
           :: gate >= IN_FLIGHT -> gate = OPEN
           :: else
           fi
       }
    od
}

#define SYSTEM_CALL (pending == 0 || blocked)

inline may_meddle() {
    do
    :: atomic { meddle > 0 -> meddle--; changes_mask = true; blocked = !blocked };
       SYSTEM_CALL; changes_mask = false
    :: atomic { meddle > 0 -> meddle--; ignored = !ignored; if :: ignored -> pending = 0 :: else fi };
       SYSTEM_CALL
    :: break
    od
}

active proctype M() {
    byte n = SCOPES;
    bool lost = false, comes = false;
    do
    :: n > 0 ->
           n--;
           outside = false;
           if
#ifndef MUTANT_NOT_LOOKED
           :: lost ->       /* G4 */
                  comes = !blocked && !ignored; SYSTEM_CALL;
                  if :: comes -> lost = false; gate = OPEN :: else fi
#endif
           :: else -> gate = OPEN
           fi;
           may_meddle();
again:
#ifdef MUTANT_SHUT_BLINDLY
           gate = SHUT;
#endif
           if
           :: atomic { gate == OPEN -> gate = SHUT }        /* G1 */
           :: gate == SHUT
#ifdef MUTANT_GIVES_UP_EARLY
           :: atomic { gate == IN_FLIGHT -> gate = SHUT; lost = true }
#else
           :: gate == IN_FLIGHT -> gate != IN_FLIGHT; goto again        /* G2 */
#endif
           :: gate == SENT ->       /* G3 */
#ifdef MUTANT_WAITS_FOR_EVER
                  gate != SENT;
#elif defined(MUTANT_NOT_SAID)
                  SYSTEM_CALL;
                  atomic { if :: gate == SENT -> gate = SHUT; lost = true :: else fi };
#else
                  atomic { if :: gate == SENT -> gate = AWAITED :: else fi };
#ifndef MUTANT_NO_SYSTEM_CALL
                  SYSTEM_CALL;
#endif
                  atomic { if :: gate == AWAITED -> gate = SHUT; lost = true :: else fi };
#endif
                  goto again
           fi;
           outside = true;
           may_meddle()
    :: else -> break
    od
}

active [2] proctype sender() {
    byte n = SENDS;
    bool mine = false;
    do
    :: n > 0 ->
           n--;
           atomic { !asked -> asked = true };
           atomic { mine = (gate == OPEN); if :: mine -> gate = IN_FLIGHT :: else fi };
           if
#ifdef SENDING_FAILS
           :: mine -> gate = OPEN
#endif
           :: mine ->
                  atomic {
                      if
                      :: ignored
                      :: !ignored -> assert(pending == 0); pending = 1
                      fi
                  };
#ifdef MUTANT_SAID_LATE
                  asked = false;
#endif
                  atomic { if :: gate == IN_FLIGHT -> gate = SENT :: else fi }
           :: else
           fi;
           asked = false
    :: else -> break
    od
}
