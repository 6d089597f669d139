/* retake.pml: the monitor retakes a P from an M in user code, R1 to R5 against E1 to E4 of
 * src/handoff/retake.h, with a thief at run_next (T1 to T4 of src/sched/p.h) and requests to hurry
 * in the same owner word.
 *
 * An M enters the runtime a few times. With its P it pushes, takes, leaves, hands the P to
 * another M for a blocking call, or parks. On g0 it runs what is queued there, or makes the P
 * idle. Without its P it works as a plain thread, takes an idle P back, or parks and goes idle.
 * In user code it may compute for ever. A sleeping M is handed a P by the monitor, by an M that
 * blocks, or by a thread that has seen an idle P. Every choice is explored.
 *
 * Store buffers (TSO): the Ms' plain stores to in_runtime and run_next wait in a buffer and
 * leave it in order, at any moment. Locked instructions and full fences empty the thread's own
 * buffer, the heavy fence those of all threads, one after the other. The owner word is one word,
 * changed by locked instructions. Each attempt of a compare-exchange loop is one step.
 *
 * Checked: between a successful enter and the next leave, an M has the P to itself, and the P is
 * its own (inside). No green thread runs twice or is lost. P and M are never handed off twice.
 * When nothing can move, the lock is free, and no work is queued on an idle P, or on an M that
 * computes for ever while another M is asleep. The run progress shows that the monitor does not
 * retry for ever.
 *
 * Each define MUTANT_… omits one thing from the protocol; its check must find that. See
 * docs/retake.md and docs/models.md.
 */
/* spin: one          expect=ok   pan="-E -m100000 -w25" cc="-O1 -w -DSAFETY -DCOLLAPSE" defs="-DENTRIES=4 -DTHIEVES=1 -DWAKES=2" */
/* spin: hurry        expect=ok   pan="-E -m100000 -w25" cc="-O1 -w -DSAFETY -DCOLLAPSE" defs="-DENTRIES=3 -DTHIEVES=1 -DHURRIES=1" */
/* spin: two          expect=ok   pan="-E -m100000 -w25" cc="-O1 -w -DSAFETY -DCOLLAPSE" defs="-DNP=2 -DNM=3 -DENTRIES=3" */
/* spin: full_fence   expect=ok   pan="-E -m100000 -w25" cc="-O1 -w -DSAFETY -DCOLLAPSE" defs="-DENTRIES=4 -DTHIEVES=1 -DFULL_FENCE" */
/* spin: progress     expect=ok   pan="-E -l -m100000 -w25" cc="-O1 -w -DNP -DCOLLAPSE" defs="-DENTRIES=3 -DTHIEVES=1" */
/* spin: mutant_no_fence        expect=fail pan="-E -m100000" cc="-O2 -w -DSAFETY" defs="-DMUTANT_NO_FENCE" */
/* spin: mutant_no_entry_fence  expect=fail pan="-E -m100000" cc="-O2 -w -DSAFETY" defs="-DFULL_FENCE -DMUTANT_NO_ENTRY_FENCE" */
/* spin: mutant_plain_flag      expect=fail pan="-E -m100000" cc="-O2 -w -DSAFETY" defs="-DMUTANT_PLAIN_FLAG" */
/* spin: mutant_not_looked      expect=fail pan="-E -m100000" cc="-O2 -w -DSAFETY" defs="-DMUTANT_NOT_LOOKED" */
/* spin: mutant_two_retakers    expect=fail pan="-E -m100000" cc="-O2 -w -DSAFETY" defs="-DMUTANT_TWO_RETAKERS" */
/* spin: mutant_not_cleared     expect=fail pan="-E -m100000" cc="-O2 -w -DSAFETY" defs="-DMUTANT_NOT_CLEARED" */
/* spin: mutant_under_a_thief   expect=fail pan="-E -m100000" cc="-O2 -w -DSAFETY" defs="-DTHIEVES=1 -DMUTANT_UNDER_A_THIEF" */
/* spin: mutant_bit_refused     expect=fail pan="-E -m100000" cc="-O2 -w -DSAFETY" defs="-DENTRIES=3 -DMUTANT_BIT_REFUSED" */
/* spin: mutant_disowns_blindly expect=fail pan="-E -m100000" cc="-O2 -w -DSAFETY" defs="-DENTRIES=4 -DTHIEVES=1 -DMUTANT_DISOWNS_BLINDLY" */
/* spin: mutant_bit_left        expect=fail pan="-E -m100000" cc="-O2 -w -DSAFETY" defs="-DENTRIES=3 -DMUTANT_BIT_LEFT" */
/* spin: mutant_no_heir         expect=fail pan="-E -m100000" cc="-O2 -w -DSAFETY" defs="-DMUTANT_NO_HEIR" */
/* spin: mutant_gives_up        expect=fail pan="-E -l -m100000" cc="-O2 -w -DNP" defs="-DMUTANT_GIVES_UP" */
/* spin: mutant_not_noticed     expect=fail pan="-E -m100000" cc="-O2 -w -DSAFETY" defs="-DMUTANT_NOT_NOTICED" */

#ifndef NP
#define NP 1            /* Ps */
#endif
#ifndef NM
#define NM 2            /* Ms */
#endif
#ifndef ENTRIES
#define ENTRIES 2       /* into the runtime, by all of them */
#endif
#ifndef THIEVES
#define THIEVES 0
#endif
#ifndef HURRIES
#define HURRIES 0       /* requests to hurry */
#endif
#ifndef WAKES
#define WAKES 1         /* times that an idle P is handed to an M that is asleep */
#endif
#ifdef MUTANT_TWO_RETAKERS
#define RETAKERS 2
#else
#define RETAKERS 1
#endif
#define NONE 15

/* ---- The owner words. */
byte owner[NP];
bool asked[NP], preempt[NP], retake[NP];

/* ---- Data of the owner. Green threads are 1, 2, 3 ... */
byte run_next[NP];      /* as all threads see it; 0: empty */
byte inside[NP];        /* Ms that take themselves to be alone with the P */
byte pushed = 0, ran[ENTRIES + 1];

/* ---- idle_state, guarded by lock. */
bool lock = false, idle_p[NP], asleep[NM];

/* ---- Ms. */
bool in_runtime[NM];    /* as all threads see it */
bool computes[NM];
byte next_p[NM];
byte left = ENTRIES;

/* ---- Store buffers. */
#define IN_RUNTIME NP   /* else: run_next of that P */
chan buffer[NM] = [4] of { byte, byte };
byte waiting[NM], newest[NM];   /* stores to run_next in the buffer, and the last of them */

inline leave_buffer(n) {
    buffer[n] ? variable, value;
    if
    :: variable == IN_RUNTIME -> in_runtime[n] = value
    :: else -> run_next[variable] = value; waiting[n]--;
               if :: waiting[n] == 0 -> newest[n] = 0 :: else fi
    fi
}

inline drain(n) { do :: nempty(buffer[n]) -> leave_buffer(n) :: empty(buffer[n]) -> break od; variable = 0; value = 0 }

proctype store_buffer(byte n) {
    byte variable, value;
end:
    do :: atomic { nempty(buffer[n]) -> leave_buffer(n); variable = 0; value = 0 } od
}

#define MINE (waiting[m] > 0 -> newest[m] : run_next[p])
#define STORE_RUN_NEXT(g) buffer[m] ! p, g; waiting[m]++; newest[m] = g

#define LOCK   !lock -> lock = true
#define UNLOCK lock = false

inline runs(g) { ran[g]++; assert(ran[g] == 1) }

inline comes_in() {
    has = true;
    inside[p]++;
#ifndef MUTANT_NOT_NOTICED
    assert(owner[p] == m);
#endif
    assert(inside[p] == 1)
}

/* E1 to E4. p: the P that m had last. Sets has. */
inline enter() {
    atomic { nfull(buffer[m]) -> buffer[m] ! IN_RUNTIME, 1 };
#if defined(FULL_FENCE) && !defined(MUTANT_NO_ENTRY_FENCE)
    atomic { drain(m) };
#endif
    if
#ifdef MUTANT_NOT_CLEARED
    :: atomic { owner[p] == m && !asked[p] -> comes_in() }
#else
    :: atomic { owner[p] == m && !asked[p] && !preempt[p] && !retake[p] -> comes_in() }
    :: atomic { owner[p] == m && !asked[p] && (preempt[p] || retake[p]) ->
           drain(m); preempt[p] = false; retake[p] = false; comes_in() }
#endif
#ifdef MUTANT_NOT_NOTICED
    :: atomic { owner[p] != m -> comes_in() }
#else
    :: atomic { owner[p] != m -> has = false }
#endif
    fi
}

inline leave() {
    atomic { nfull(buffer[m]) -> if :: has -> inside[p]-- :: else fi; buffer[m] ! IN_RUNTIME, 0 }
}

/* m, which is on no list, gets P number n, which no other thread can have. */
inline acquire_p(n) {
    drain(m);
    assert(owner[n] == NONE && !asked[n] && !retake[n] && !preempt[n]);
    p = n; owner[p] = m;
    comes_in()
}

/* What remains after a locked exchange of the whole word with 0. */
inline free_word(n) {
    owner[n] = NONE; preempt[n] = false;
#ifndef MUTANT_BIT_LEFT
    retake[n] = false
#endif
}

/* try_release_p_locked: fails while a thief holds the word. The M then frees the lock, waits for
   the thief, and tries again. */
#ifdef MUTANT_BIT_REFUSED
#define MAY_DISOWN(n) (!asked[n] && !retake[n] && !preempt[n])
#elif defined(MUTANT_DISOWNS_BLINDLY)
#define MAY_DISOWN(n) true
#else
#define MAY_DISOWN(n) !asked[n]
#endif
#if defined(MUTANT_BIT_REFUSED) || defined(MUTANT_DISOWNS_BLINDLY)
#define TRIES_AGAIN(n) false            /* the first one waits under the lock */
#else
#define TRIES_AGAIN(n) asked[n]
#endif

inline take_idle_m() {
    target = 0;
    do :: target < NM && !asleep[target] -> target++ :: else -> break od;
    if :: target < NM -> asleep[target] = false :: else -> target = NONE fi
}

inline hand_over(n) { assert(next_p[target] == NONE); next_p[target] = n; target = NONE }

#define SOMEBODY_SLEEPS (asleep[0] || asleep[1] || asleep[NM - 1])

proctype M(byte m) {
    byte variable, value, seen, p = NONE, target = NONE;
    bool has = false;

    if
    :: m < NP -> p = m; goto user
    :: else -> goto sleeps
    fi;

user:   /* In user code, with P number p or without it. */
    if
    :: atomic { left > 0 -> left-- }
    :: computes[m] = true; false            /* it never returns */
    fi;
    enter();
    if
    :: has ->
           if
           :: seen = MINE;                  /* pushes; what was there runs later, from the ring */
              atomic { nfull(buffer[m]) -> pushed++; STORE_RUN_NEXT(pushed) };
              if :: seen != 0 -> runs(seen) :: else fi
           :: seen = MINE;                  /* takes */
              if
              :: seen != 0 -> atomic { nfull(buffer[m]) -> STORE_RUN_NEXT(0) }; runs(seen)
              :: else
              fi
           :: skip;                         /* leave_p_to_others */
gives:        atomic { LOCK; drain(m) };
              if
              :: atomic { SOMEBODY_SLEEPS && TRIES_AGAIN(p) -> UNLOCK }; !asked[p]; goto gives
              :: atomic { SOMEBODY_SLEEPS && MAY_DISOWN(p) ->
                     inside[p]--; has = false; free_word(p);
                     take_idle_m(); hand_over(p); UNLOCK }
              :: atomic { !SOMEBODY_SLEEPS -> UNLOCK }
              fi
           :: seen = 0; goto g0             /* parks */
           fi;
           seen = 0;
           leave();
           goto user
    :: !has ->
           if
           :: leave(); goto user            /* operations that do not park */
           :: atomic { LOCK; drain(m) };    /* take_back_p */
              if
              :: atomic { idle_p[0] -> idle_p[0] = false; UNLOCK; acquire_p(0) }; leave(); goto user
              :: atomic { idle_p[NP - 1] -> idle_p[NP - 1] = false; UNLOCK; acquire_p(NP - 1) }; leave(); goto user
              :: atomic { !idle_p[0] && !idle_p[NP - 1] -> UNLOCK }
              fi
           :: skip                          /* parks, or ends */
           fi;
           p = NONE; goto sleeps
    fi;

g0:     /* With P number p. */
    seen = MINE;
    if
    :: seen != 0 ->
           atomic { nfull(buffer[m]) -> STORE_RUN_NEXT(0) };
           runs(seen); seen = 0;
           leave();
           goto user
    :: else ->
rests:     atomic { LOCK; drain(m) };
           if
           :: atomic { TRIES_AGAIN(p) -> UNLOCK }; !asked[p]; goto rests
           :: atomic {
                  MAY_DISOWN(p);
                  inside[p]--; has = false;
                  free_word(p); idle_p[p] = true; p = NONE;
                  UNLOCK
              }
           fi
    fi;

sleeps: /* Without a P, in the runtime. */
    atomic { LOCK; drain(m); asleep[m] = true; UNLOCK };
    atomic { next_p[m] != NONE -> assert(!asleep[m]); acquire_p(next_p[m]); next_p[m] = NONE };
    goto g0
}

#ifdef MUTANT_NO_HEIR
#define TARGET_THERE true
#else
#define TARGET_THERE SOMEBODY_SLEEPS
#endif
#define WAITS(q) (run_next[q] != 0 && owner[q] != NONE && !in_runtime[owner[q]] && TARGET_THERE)

proctype monitor() {
    byte m = NONE, q, target = NONE, variable, value, n;
    bool outside;

scan:
    if
    :: atomic { WAITS(0) -> q = 0; m = owner[q] }
#if NP > 1
    :: atomic { WAITS(1) -> q = 1; m = owner[q] }
#endif
    fi;
    if
    :: atomic { owner[q] == m && !asked[q] -> retake[q] = true }                        /* R1 */
    :: atomic { owner[q] != m -> m = NONE; goto scan }
    fi;
#if !defined(MUTANT_NO_FENCE) && !defined(FULL_FENCE)
    do                                                                                  /* R2 */
    :: atomic { n < NM -> drain(n); n++ }
    :: atomic { n == NM -> n = 0; break }
    od;
#endif
    atomic { LOCK };
    if
    :: atomic { !TARGET_THERE -> retake[q] = false; UNLOCK; m = NONE; goto scan }
    :: else
    fi;
#ifdef MUTANT_NOT_LOOKED
    outside = true;
#else
    outside = !in_runtime[m];                                                           /* R3 */
#endif
#ifdef MUTANT_GIVES_UP
    outside = false;
#endif
    atomic {                                                                            /* R4 */
        if
#ifdef MUTANT_PLAIN_FLAG
        :: outside && owner[q] == m && !asked[q] -> target = m
#elif defined(MUTANT_UNDER_A_THIEF)
        :: outside && owner[q] == m && retake[q] -> target = m; asked[q] = false
#else
        :: outside && owner[q] == m && retake[q] && !asked[q] -> target = m
#endif
        :: else
        fi;
        if
        :: target == NONE && owner[q] == m -> retake[q] = false
        :: target != NONE -> retake[q] = false; free_word(q)
        :: else
        fi
    };
    if
    :: atomic { target != NONE -> take_idle_m();                                        /* R5 */
#ifdef MUTANT_NO_HEIR
           if :: target == NONE -> idle_p[q] = true :: else -> hand_over(q) fi;
#else
           hand_over(q);
#endif
           UNLOCK }
    :: atomic { target == NONE -> UNLOCK }
    fi;
    atomic { outside = false; m = NONE; q = 0; target = NONE };
    goto scan
}

#if THIEVES > 0
proctype thief() {
    byte holder, g, variable, value, q = 0;
    holder = owner[q];
    g = run_next[q];
    if
    :: holder != NONE && g != 0 ->
           if
           :: atomic { owner[q] == holder && !asked[q] -> asked[q] = true };            /* T1 */
#ifndef FULL_FENCE
              atomic { drain(0) }; atomic { drain(1) };                                 /* T2 */
#endif
              if
              :: !in_runtime[holder] ->                                                 /* T3 */
                     if
                     :: run_next[q] == g -> run_next[q] = 0; runs(g)
                     :: else
                     fi
              :: in_runtime[holder]
              fi;
              asked[q] = false                                                          /* T4 */
           :: atomic { owner[q] != holder || asked[q] }
           fi
    :: else
    fi
}
#endif

#if HURRIES > 0
proctype hurrier() {
    byte n = HURRIES;
    do
    :: atomic { n > 0 && owner[0] != NONE -> n--; preempt[0] = true }
    :: n > 0 && owner[0] == NONE -> n--
    :: n == 0 -> break
    od
}
#endif

#if WAKES > 0
/* Work for an idle P. */
proctype waker() {
    byte n = WAKES, target = NONE, q = 0;
    do
    :: atomic { n > 0 && (idle_p[0] || idle_p[NP - 1]) && SOMEBODY_SLEEPS && LOCK;
           n--;
           q = (idle_p[0] -> 0 : NP - 1);
           idle_p[q] = false;
           take_idle_m(); hand_over(q); q = 0;
           UNLOCK }
    :: n == 0 -> break
    od
}
#endif

#define LEFT_LYING(q) (run_next[q] != 0 && owner[q] != NONE && computes[owner[q]])

active proctype end() {
    byte g = 1;
    timeout;
    assert(!lock);
    assert(!SOMEBODY_SLEEPS || !(LEFT_LYING(0) || LEFT_LYING(NP - 1)));
    assert(!(idle_p[0] && run_next[0] != 0) && !(idle_p[NP - 1] && run_next[NP - 1] != 0));
    assert((idle_p[0] || computes[owner[0]]) && (idle_p[NP - 1] || computes[owner[NP - 1]]));
    do
    :: g <= pushed -> assert(ran[g] + (run_next[0] == g) + (NP > 1 && run_next[NP - 1] == g) == 1); g++
    :: else -> break
    od
}

init {
    byte n = 0;
    atomic {
        do :: n < NP -> owner[n] = n; n++ :: else -> n = 0; break od;
        do
        :: n < NM -> next_p[n] = NONE; in_runtime[n] = (n >= NP); run store_buffer(n); run M(n); n++
        :: else -> break
        od;
        n = 0;
        do :: n < RETAKERS -> run monitor(); n++ :: else -> n = 0; break od;
#if THIEVES > 0
        run thief();
#if THIEVES > 1
        run thief();
#endif
#endif
#if HURRIES > 0
        run hurrier();
#endif
#if WAKES > 0
        run waker();
#endif
        skip
    }
}
