/* injected.pml: whether the Gs of the injected queue or the others run next: N1 to N3
 * and A1 to A3 of src/handoff/injected.h.
 *
 * Each P always has green threads of its own to run. One piece of one of them is a step, and so
 * is a piece of an injected G. A piece of the others may last for ever (computes). A P passes
 * through g0 when the countdown, which begins at EVERY, is over, or when a request was found on
 * entry into the runtime. A P may change hands GRANTS times, at any moment outside of the
 * runtime, as in a retake or a hand-off. Its owner word, with the request, is then empty until
 * the next M has it. That M may have been given a green thread along with the P, and runs that
 * one first.
 *
 * Time is left out: all pieces have the same length, so A3 is one schedule of the others for
 * each injected one. Memory is sequentially consistent: a missed request only costs time, which the
 * check at every 61st schedule bounds (I2). That no work is left queued while a P is idle is
 * checked by idle.pml, where the injected queue is the global one.
 *
 * Checked: while injected Gs wait, a P that was asked, or has changed hands, begins at most
 * PATIENCE pieces of the others before an injected one runs. Any P begins at most EVERY, whatever
 * happens to the others. No P runs two injected Gs in a row.
 *
 * Each define MUTANT_… omits one thing from the protocol; its check must find that.
 * See docs/models.md.
 */
/* spin: one         expect=ok   pan="-E -m100000 -w25" cc="-O1 -w -DSAFETY -DCOLLAPSE" defs="-DNP=1 -DINJECTED=3 -DGRANTS=2" */
/* spin: two         expect=ok   pan="-E -m100000 -w25" cc="-O1 -w -DSAFETY -DCOLLAPSE" defs="-DNP=2 -DINJECTED=2" */
/* spin: mutant_not_asked    expect=fail pan="-E -m100000" cc="-O2 -w -DSAFETY" defs="-DNP=1 -DINJECTED=1 -DMUTANT_NOT_ASKED" */
/* spin: mutant_bit_ignored  expect=fail pan="-E -m100000" cc="-O2 -w -DSAFETY" defs="-DNP=1 -DINJECTED=1 -DMUTANT_BIT_IGNORED" */
/* spin: mutant_heir_blind   expect=fail pan="-E -m100000" cc="-O2 -w -DSAFETY" defs="-DNP=1 -DINJECTED=1 -DGRANTS=1 -DMUTANT_HEIR_BLIND" */
/* spin: mutant_one_turn     expect=fail pan="-E -m100000" cc="-O2 -w -DSAFETY" defs="-DNP=1 -DINJECTED=2 -DMUTANT_ONE_TURN" */
/* spin: mutant_no_turn_of_others expect=fail pan="-E -m100000" cc="-O2 -w -DSAFETY" defs="-DNP=1 -DINJECTED=2 -DMUTANT_NO_TURN_OF_OTHERS" */
/* spin: mutant_only_asked   expect=fail pan="-E -m100000" cc="-O2 -w -DSAFETY" defs="-DNP=2 -DINJECTED=1 -DMUTANT_ONLY_ASKED" */

#ifndef GRANTS
#define GRANTS 0         /* times that a P changes hands */
#endif
#define EVERY 4         /* P::global_every */
#define PATIENCE 2      /* what the next M was given, and what began between the push and the request */

byte injected = 0, to_come = INJECTED, taken = 0, grants = GRANTS;

/* ---- State of each P. */
bool held[NP], asked[NP];   /* the owner word */
byte overtaken[NP];         /* pieces of the others that it has begun while an injected one waits, since it was asked or changed hands */
bool counts[NP], computes[NP];

inline start_counting(q) { counts[q] = true; overtaken[q] = 0 }

proctype P(byte me) {
    byte left = EVERY;
    bool after_injected = false;

user:   /* A piece of the others has run. */
    if
    :: computes[me] = true; false
    :: grants > 0 -> /* to an M that searches for work, or has been given a green thread to run */
           atomic { grants--; held[me] = false; asked[me] = false };
           atomic { held[me] = true; if :: injected > 0 -> start_counting(me) :: else fi };
           if
           :: goto g0
#ifdef MUTANT_HEIR_BLIND
           :: goto piece
#else
           :: atomic { if :: injected > 0 -> left = 2 :: else fi; goto piece }      /* keep_hurry */
#endif
           fi
    :: skip
    fi;
    /* enter_slow */
#ifndef MUTANT_BIT_IGNORED
    atomic { if :: asked[me] -> asked[me] = false; left = 1 :: else fi };
#else
    asked[me] = false;
#endif
    if
    :: left == 1 -> goto g0
    :: else
    fi;

piece:  /* A piece of the others begins. */
    atomic {
        left--;
        after_injected = false;
        if :: injected > 0 -> overtaken[me]++ :: else -> overtaken[me] = 0; counts[me] = false fi;
        assert(overtaken[me] <= EVERY + PATIENCE);
        assert(!counts[me] || overtaken[me] <= PATIENCE)
    };
    goto user;

g0:
    left = EVERY;
#ifdef MUTANT_ONLY_ASKED
    if :: counts[me] -> skip :: else -> goto piece fi;
#endif
    if
#ifdef MUTANT_NO_TURN_OF_OTHERS
    :: atomic { injected > 0 ->                                                 /* A1 */
#else
    :: atomic { injected > 0 && !after_injected ->                               /* A1 */
#endif
           injected--; taken++;
           assert(!after_injected);
           after_injected = true;
           overtaken[me] = 0;
           if :: injected > 0 -> counts[me] = true :: else -> counts[me] = false fi };
       goto g0                                                                  /* A2: back after one schedule */
    :: atomic { injected > 0 && after_injected ->                                /* A3 */
#ifndef MUTANT_ONE_TURN
           left = 2;
#endif
           goto piece }
    :: atomic { injected == 0 -> counts[me] = false; goto piece }
    fi
}

proctype pusher() {
    byte q;
    do
    :: to_come > 0 ->
           atomic { to_come--; injected++ };                                    /* N1 */
#ifndef MUTANT_NOT_ASKED
           q = 0;                                                               /* N3 */
           do
           :: atomic { q < NP && held[q] -> asked[q] = true; if :: injected > 0 -> start_counting(q) :: else fi; break }
           :: atomic { q < NP && !held[q] -> q++ }
           :: q == NP -> break
           od
#else
           atomic { if :: held[0] -> start_counting(0) :: else fi }
#endif
    :: to_come == 0 -> break
    od
}

active proctype end() {
    timeout;
    assert(taken + injected == INJECTED);
    assert(injected == 0 || (computes[0] && computes[NP - 1]))
}

init {
    byte n = 0;
    atomic {
        do :: n < NP -> held[n] = true; run P(n); n++ :: else -> n = 0; break od;
        run pusher()
    }
}
