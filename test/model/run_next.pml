/* run_next.pml: a thief at run_next, by the protocol T1 to T4, E1 to E3 of src/sched/p.h.
 *
 * Two Ms have one P, one after the other. Each enters the runtime a few times, pushes, takes its
 * own run_next, leaves, and finally hands the P off. A thief sees the holder, sets asked, passes
 * the heavy fence, and takes what is there if the holder is in user code. An M without this P
 * runs user code on another one: its in_runtime is 0.
 *
 * Store buffers (TSO): the Ms' plain stores to in_runtime and run_next wait in a buffer and
 * leave it in order, at any moment. Locked instructions empty the thread's own buffer, the heavy
 * fence those of all threads.
 *
 * Checked: no green thread runs twice, and at the end none is lost.
 */
/* spin: protocol     expect=ok   pan="-m100000 -w24" cc="-O1 -w -DSAFETY" */
/* spin: two_thieves  expect=ok   pan="-m100000 -w26" cc="-O1 -w -DSAFETY -DCOLLAPSE" defs="-DTHIEVES=2 -DENTRIES=2" */
/* spin: no_fence     expect=fail pan="-m100000" cc="-O2 -w -DSAFETY" defs="-DMUTANT_NO_FENCE" */
/* spin: not_looked   expect=fail pan="-m100000" cc="-O2 -w -DSAFETY" defs="-DMUTANT_NOT_LOOKED" */
/* spin: not_waited   expect=fail pan="-m100000" cc="-O2 -w -DSAFETY" defs="-DMUTANT_NOT_WAITED" */
/* spin: given_away   expect=fail pan="-m100000" cc="-O2 -w -DSAFETY" defs="-DMUTANT_GIVEN_AWAY" */
/* spin: left_early   expect=fail pan="-m100000" cc="-O2 -w -DSAFETY" defs="-DMUTANT_LEFT_EARLY" */

#ifndef THIEVES
#define THIEVES 1
#endif
#ifndef ENTRIES
#define ENTRIES 2       /* into the runtime, for each M */
#endif
#define NONE 2

byte owner = 0;         /* M 0 or 1, or NONE */
bool asked = false;
byte run_next = 0;      /* as all threads see it; 0: empty */
bool in_runtime[2];

byte pushed = 0;        /* green threads are 1, 2, 3 ... */
byte ran[2 * ENTRIES + 1];
byte gone = 0;          /* Ms that are done */

/* ---- Store buffers: at most in_runtime = 1, run_next, in_runtime = 0 and again. */
#define OF_RUN_NEXT 0
#define OF_IN_RUNTIME 1
chan buffer[2] = [6] of { bit, byte };
byte waiting[2];        /* stores to run_next in the buffer ... */
byte newest[2];         /* ... and the last of them */

inline leave_buffer(m) {
    buffer[m] ? variable, value;
    if
    :: variable == OF_RUN_NEXT -> run_next = value; waiting[m]--
    :: else -> in_runtime[m] = value
    fi
}

inline drain(m) { do :: nempty(buffer[m]) -> leave_buffer(m) :: empty(buffer[m]) -> break od; variable = 0; value = 0 }

proctype store_buffer(byte m) {
    bit variable; byte value;
end:
    do :: atomic { nempty(buffer[m]) -> leave_buffer(m); variable = 0; value = 0 } od
}

#define MINE (waiting[m] > 0 -> newest[m] : run_next)
#define STORE_RUN_NEXT(g) buffer[m] ! OF_RUN_NEXT, g; waiting[m]++; newest[m] = g

inline runs(g) { ran[g]++; assert(ran[g] == 1) }

/* E1 to E3. */
inline enter() {
    atomic { nfull(buffer[m]) -> buffer[m] ! OF_IN_RUNTIME, 1 }
#ifndef MUTANT_NOT_WAITED
    !asked
#endif
}

inline leave() {
    atomic { nfull(buffer[m]) -> buffer[m] ! OF_IN_RUNTIME, 0 }
}

proctype M(byte m) {
    bit variable; byte value, left, seen;
    atomic { owner == m -> left = ENTRIES }   /* M 1 gets the P from M 0 */
    do
    :: left > 0 ->
        left--;
        enter();
        if
        :: seen = MINE;                       /* push; what was there runs later, from the ring */
           atomic { nfull(buffer[m]) -> pushed++; STORE_RUN_NEXT(pushed) }
#ifdef MUTANT_LEFT_EARLY
           leave();
#endif
           if :: seen != 0 -> runs(seen) :: else fi
        :: seen = MINE;                       /* take */
#ifdef MUTANT_LEFT_EARLY
           leave();
#endif
           if
           :: seen != 0 -> atomic { nfull(buffer[m]) -> STORE_RUN_NEXT(0) } runs(seen)
           :: else
           fi
        fi;
        seen = 0;
        leave()
    :: left == 0 -> break
    od;
    /* g0: nothing may be left when the P is handed off. */
    enter();
    seen = MINE;
    if :: seen != 0 -> atomic { nfull(buffer[m]) -> STORE_RUN_NEXT(0) } runs(seen) :: else fi;
    seen = 0;
    atomic {
#ifndef MUTANT_GIVEN_AWAY
        !asked;
#endif
#ifdef MUTANT_GIVEN_AWAY
        asked = false;                        /* a store of the whole word */
#endif
        drain(m);                             /* a locked instruction */
        owner = m + 1
    }
    leave();                                  /* user code, on another P */
    gone++
}

proctype thief() {
    byte holder, g;
    bit variable; byte value;
    do
    :: holder = owner;
       if
       :: holder == NONE -> break
       :: else
       fi;
       g = run_next;
       if
       :: g == 0                              /* nothing there: tries again, or gives up */
       :: g == 0 -> break
       :: g != 0 ->
          if
          :: atomic { owner == holder && !asked -> asked = true }           /* T1 */
#ifndef MUTANT_NO_FENCE
             atomic { drain(0) } atomic { drain(1) }                        /* T2 */
#endif
             if
#ifdef MUTANT_NOT_LOOKED
             :: true ->
#else
             :: !in_runtime[holder] ->                                       /* T3 */
#endif
                if
                :: run_next != 0 ->          /* the same as before, or another one in its place */
                   g = run_next; run_next = 0; runs(g)
                :: else
                fi
             :: in_runtime[holder]
             fi;
             asked = false                                                  /* T4 */
          :: else
          fi
       fi
    od;
    gone++
}

init {
    atomic {
        run store_buffer(0); run store_buffer(1);
        run M(0); run M(1);
        run thief();
#if THIEVES == 2
        run thief()
#endif
    }
    gone == 2 + THIEVES;
    byte g = 1;
    do
    :: g <= pushed -> assert(ran[g] == 1); g++
    :: else -> break
    od
}
