/* pin.pml: the hand-off of Ps to and from the M of a pinned green thread (src/handoff/pin.h), over
 * the protocol of src/idle/idle.h.
 *
 * M 0 has a pinned green thread, g, and runs nothing else while g is pinned. All other green
 * threads are counts. g is in one place: a ring, the global queue, an M's hand, parked, running,
 * or gone. Running green threads push others, make g ready, end, or compute for ever. g also
 * yields, parks, is unpinned, or ends while it is pinned, which retires M 0. Every choice is
 * explored.
 *
 * Memory is sequentially consistent here, because all that a hand-off adds happens under
 * the idle lock or through a note. What depends on fences is in idle.pml. This model has the sleep
 * of that one, with a scan of everything as one step.
 *
 * Checked: M 0 runs only g, and g runs only there. next_p of an M is never overwritten. When
 * nothing can move, each P is idle, or with an M that computes, or with M 0 that naps while g
 * waits (H5). g is in no M's hand, and nothing is queued while a P is idle and an M is
 * available. With STOP no M is asleep. The run refused shows that M 0 does not retry for ever:
 * each cycle passes one of the progress labels.
 *
 * Each define MUTANT_… omits one thing from the protocol; its check must find that.
 * See docs/pin.md and docs/models.md.
 */
/* spin: one            expect=ok   pan="-E -m200000 -w24" cc="-O1 -w -DSAFETY -DCOLLAPSE" defs="-DNP=1 -DNM=2 -DNPUSH=2 -DNREADY=2 -DNOUT=1" */
/* spin: retires        expect=ok   pan="-E -m200000 -w24" cc="-O1 -w -DSAFETY -DCOLLAPSE" defs="-DNPUSH=3" */
/* spin: two            expect=ok   pan="-E -m200000 -w26" cc="-O1 -w -DSAFETY -DCOLLAPSE" defs="-DNPUSH=2 -DNREADY=1" */
/* spin: outside_push   expect=ok pan="-E -m200000 -w26" cc="-O1 -w -DSAFETY -DCOLLAPSE" defs="-DNPUSH=1 -DNOUT=1" */
/* spin: outside_ready  expect=ok pan="-E -m200000 -w26" cc="-O1 -w -DSAFETY -DCOLLAPSE" defs="-DNREADY=1 -DNOUT=1" */
/* spin: no_threads     expect=ok pan="-E -m200000 -w26" cc="-O1 -w -DSAFETY -DCOLLAPSE" defs="-DNO_THREADS -DNPUSH=1 -DNREADY=1" */
/* spin: none_outside   expect=ok pan="-E -m200000 -w26" cc="-O1 -w -DSAFETY -DCOLLAPSE" defs="-DNO_THREADS -DNREADY=1 -DNOUT=1" */
/* spin: stop           expect=ok pan="-E -m200000 -w26" cc="-O1 -w -DSAFETY -DCOLLAPSE" defs="-DSTOP -DNPUSH=1 -DNREADY=1" */
/* spin: refused        expect=ok pan="-E -l -m200000 -w25" cc="-O1 -w -DNP -DCOLLAPSE" defs="-DNO_THREADS -DNPUSH=1 -DNREADY=1" */
/* spin: mutant_back_to_ring       expect=fail pan="-E -l -m200000" cc="-O2 -w -DNP" defs="-DNO_THREADS -DNPUSH=1 -DNREADY=1 -DMUTANT_BACK_TO_RING" */
/* spin: mutant_not_looked         expect=fail pan="-E -l -m200000" cc="-O2 -w -DNP" defs="-DNO_THREADS -DNPUSH=1 -DNREADY=1 -DMUTANT_NOT_LOOKED" */
/* spin: mutant_asleep_only        expect=fail pan="-E -m200000" cc="-O2 -w -DSAFETY" defs="-DNPUSH=1 -DNREADY=1 -DMUTANT_ASLEEP_ONLY" */
/* spin: mutant_left_on_list       expect=fail pan="-E -m200000" cc="-O2 -w -DSAFETY" defs="-DNPUSH=1 -DNREADY=1 -DNOUT=1 -DMUTANT_LEFT_ON_LIST" */
/* spin: mutant_left_without_look  expect=fail pan="-E -m200000 -w24" cc="-O2 -w -DSAFETY -DCOLLAPSE" defs="-DNREADY=1 -DNOUT=1 -DMUTANT_LEFT_WITHOUT_LOOK" */
/* spin: mutant_no_nudge           expect=fail pan="-E -m200000" cc="-O2 -w -DSAFETY" defs="-DNO_THREADS -DNPUSH=1 -DNREADY=1 -DMUTANT_NO_NUDGE" */
/* spin: mutant_shared_next_p      expect=fail pan="-E -m200000" cc="-O2 -w -DSAFETY" defs="-DNPUSH=2 -DNREADY=1 -DMUTANT_SHARED_NEXT_P" */
/* spin: mutant_notified_too_early     expect=fail pan="-E -m200000" cc="-O2 -w -DSAFETY" defs="-DNPUSH=1 -DNREADY=1 -DMUTANT_NOTIFIED_TOO_EARLY" */
/* spin: mutant_no_look            expect=fail pan="-E -m200000" cc="-O2 -w -DSAFETY" defs="-DNPUSH=1 -DNREADY=1 -DNOUT=1 -DMUTANT_NO_LOOK" */
/* spin: mutant_sleepers expect=fail pan="-E -m200000" cc="-O2 -w -DSAFETY" defs="-DNP=1 -DNM=2 -DNPUSH=1 -DNREADY=1 -DNOUT=1 -DMUTANT_SLEEPERS" */
/* spin: mutant_taken_for_others   expect=fail pan="-E -m200000" cc="-O2 -w -DSAFETY" defs="-DNPUSH=1 -DNREADY=1 -DNOUT=1 -DMUTANT_TAKEN_FOR_OTHERS" */
/* spin: mutant_stop_forgets       expect=fail pan="-E -m200000" cc="-O2 -w -DSAFETY" defs="-DSTOP -DNPUSH=1 -DNREADY=1 -DMUTANT_STOP_FORGETS" */
/* spin: mutant_retired_unseen     expect=fail pan="-E -m200000" cc="-O2 -w -DSAFETY" defs="-DNPUSH=3 -DMUTANT_RETIRED_UNSEEN" */
/* spin: mutant_retired_with_p     expect=fail pan="-E -m200000" cc="-O2 -w -DSAFETY" defs="-DNPUSH=1 -DMUTANT_RETIRED_WITH_P" */

#ifndef NP
#define NP 2            /* Ps */
#endif
#ifndef NM
#define NM 3            /* Ms, most of them not created yet */
#endif
#ifndef NPUSH
#define NPUSH 0         /* pushes of ordinary green threads by green threads, together */
#endif
#ifndef NREADY
#define NREADY 0        /* times that ordinary green threads make g ready */
#endif
#ifndef NOUT
#define NOUT 0          /* pushes by external threads; each may also make g ready */
#endif
#define NONE   15
#define FAILED 14

/* Where g is; 0 ... NP - 1: in that ring. */
#define GLOBAL  8
#define PARKED  9
#define IN_HAND 10
#define RUNNING 11
#define GONE    12      /* unpinned, or dead */

/* What an M has found. */
#define NOTHING  0
#define ORDINARY 1
#define G        2

/* ---- Work. */
byte ring[NP], global_queue = 0, g = RUNNING;
byte pushes = NPUSH, readies = NREADY;

#define QUEUED_ORDINARY (global_queue > 0 || ring[0] > 0 || ring[NP - 1] > 0)
#define QUEUED          (QUEUED_ORDINARY || g < NP || g == GLOBAL)

/* ---- idle_state, guarded by lock. */
bool lock = false, stopping = false, wanted = false, sentinel_near = false;
bool idle_p[NP], listed[NM];
byte idle_ps = 0, spinning = 0, sentinel = NONE, unavailable = 0, made = 1;

/* ---- Ms. M 0 is the pinned one. */
bool pinned = true;                 /* M 0 still is */
bool naps = false;                  /* M 0 keeps a P of which it may run nothing: no thread is available */
bool unborn[NM], ended[NM], notified[NM], timed[NM], computes[NM];
byte p_of[NM], next_p[NM], next_g[NM];

#define LOCK !lock -> lock = true
#define UNLOCK lock = false
#define PUBLISH_WANTED wanted = (idle_ps > 0 && spinning == 0 && !(sentinel != NONE && sentinel_near))

inline forget_sentinel() { sentinel = NONE; sentinel_near = false }

inline take_off_list(m) {
    listed[m] = false;
    if :: sentinel == m -> forget_sentinel() :: else fi;
    if :: m == 0 && pinned -> unavailable-- :: else fi
}

/* m: an idle M that may run ordinary green threads, or a new one; NONE if none is needed,
   because an M is on its way to sleep; FAILED. */
inline take_m(by_need) {
    if
#ifdef MUTANT_TAKEN_FOR_OTHERS
    :: listed[0] -> m = 0
#else
    :: listed[0] && !pinned -> m = 0
#endif
    :: listed[1] -> m = 1
    :: listed[NM - 1] -> m = NM - 1
    :: else -> m = NONE
    fi;
    if
    :: m != NONE -> take_off_list(m)
#ifdef MUTANT_SLEEPERS
    :: m == NONE && (!by_need || made < NP) ->
#else
    :: m == NONE && (!by_need || made - unavailable < NP) ->
#endif
           m = 1;
           do :: m < NM && !unborn[m] -> m++ :: else -> break od;
           if
           :: m == NM -> m = FAILED
           :: m < NM -> unborn[m] = false; made++
#ifdef NO_THREADS
           :: m < NM -> m = FAILED
#endif
           fi
    :: else
    fi
}

inline wake_one(from_outside) {
    atomic { LOCK;
        if
        :: !stopping && idle_ps > 0 && ((from_outside && spinning == 0) || (!from_outside && wanted)) ->
               take_m(true);
               if
               :: m < NM ->
                      p = 0;
                      do :: !idle_p[p] -> p++ :: else -> break od;
                      idle_p[p] = false; idle_ps--; spinning++; PUBLISH_WANTED
               :: else
               fi
        :: else
        fi;
        UNLOCK
    };
    if
    :: m < NM -> atomic { assert(next_p[m] == NONE); next_p[m] = p }; notified[m] = true
    :: m == FAILED ->
           atomic { LOCK;
               m = (listed[0] -> 0 : NONE);
#ifdef MUTANT_NO_NUDGE
               m = NONE;
#endif
               if :: m == 0 -> take_off_list(0); PUBLISH_WANTED :: else fi;
               UNLOCK
           };
           if :: m == 0 -> notified[0] = true :: else fi
    :: else
    fi;
    m = NONE; p = NONE
}

inline after_push() {
    if :: wanted -> wake_one(false) :: else fi
}

/* Takes from ring i, or from the global queue if i == NP. */
inline take_from(i) {
    if
    :: i < NP && ring[i] > 0 -> ring[i]--; what = ORDINARY
    :: g == i && i < NP -> g = IN_HAND; what = G
    :: i == NP && global_queue > 0 -> global_queue--; what = ORDINARY
    :: i == NP && g == GLOBAL -> g = IN_HAND; what = G
    :: else
    fi
}

#define MAY_RUN(m, w) (m == 0 && pinned -> w == G : w == ORDINARY)
#define G_CAN_RUN     (g < NP || g == GLOBAL)
#ifdef NO_THREADS
#define TO_BE_HAD(m)  (listed[m] && !(m == 0 && pinned))
#else
#define TO_BE_HAD(m)  (unborn[m] || (listed[m] && !(m == 0 && pinned)))
#endif

proctype M(byte me) {
    byte what = NOTHING, p = NONE, m = NONE, i = 0;
    bool spins = false, far = false, asleep = false;

    if
    :: me == 0 -> goto running
    :: else -> goto asleep_now
    fi;

loop:
    what = NOTHING;
    if :: stopping -> goto over :: else fi;
    atomic { take_from(p_of[me]) };
    if :: what != NOTHING -> goto found :: else fi;
    atomic { take_from(NP) };
    if :: what != NOTHING -> goto found :: else fi;
    if
    :: !spins ->
           atomic { LOCK;
               if :: 2 * spinning < NP - idle_ps -> spins = true; spinning++; PUBLISH_WANTED :: else fi;
               UNLOCK
           }
    :: else
    fi;
    if
    :: spins && NP > 1 ->
           atomic { take_from(1 - p_of[me]) };
           if :: what != NOTHING -> goto found :: else fi
    :: else
    fi;
sleep_until_work:
    atomic { LOCK;
        assert(ring[p_of[me]] == 0 && g != p_of[me]);
        idle_p[p_of[me]] = true; idle_ps++; p_of[me] = NONE;
        if :: spins -> spinning--; spins = false :: else fi;
        PUBLISH_WANTED;
        UNLOCK
    };

park_m:
    atomic { LOCK };
again:  /* The lock is held. */
    atomic {
        if
        :: stopping -> UNLOCK; goto awake
        :: !stopping && next_p[me] != NONE -> asleep = wanted; UNLOCK; goto handed
        :: else
        fi;
#ifdef MUTANT_NO_LOOK
        if :: asleep -> asleep = false; listed[me] = true; PUBLISH_WANTED; UNLOCK; goto asleep_now :: else fi;
#endif
        if
        :: QUEUED && idle_ps > 0 ->
               p = 0;
               do :: !idle_p[p] -> p++ :: else -> break od;
               idle_p[p] = false; idle_ps--; spinning++; PUBLISH_WANTED;
#ifdef MUTANT_SHARED_NEXT_P
               next_p[me] = p; p = NONE;
               UNLOCK;
               goto awake
#else
               p_of[me] = p; p = NONE; spins = true; far = false;     /* not through next_p, which belongs to the givers */
               UNLOCK;
               goto loop
#endif
        :: else
        fi
    };
on_the_list:
    atomic {
        listed[me] = true;
        if :: me == 0 && pinned -> unavailable++ :: else fi;
        if
        :: sentinel == NONE || (!far && idle_ps < NP && !sentinel_near) ->
               sentinel = me; sentinel_near = (!far && idle_ps < NP); timed[me] = sentinel_near
        :: else
        fi;
        PUBLISH_WANTED;
        UNLOCK
    };
    if
    :: far -> atomic { if :: QUEUED -> timed[me] = true :: else fi }
    :: else
    fi;

asleep_now:
    if
    :: notified[me] -> goto awake
    :: timed[me] && !notified[me]
    fi;
progress_alarm:
    atomic { LOCK; timed[me] = false };
    if
    :: atomic { !listed[me] -> UNLOCK }; notified[me]; goto awake
    :: else
    fi;
    atomic { take_off_list(me); if :: far = true :: far = false fi };
    goto again;

handed:     /* Another M must search in place of this one. */
#ifndef MUTANT_LEFT_WITHOUT_LOOK
    if :: asleep -> wake_one(false) :: else fi;
#endif
    asleep = false;

awake:
    atomic {
        notified[me] = false; timed[me] = false; far = false;
        if
        :: next_p[me] == NONE && stopping -> goto over
        :: next_p[me] == NONE && !stopping -> assert(me == 0); goto park_m    /* nudged */
        :: else
        fi;
        p_of[me] = next_p[me]; next_p[me] = NONE;
        what = next_g[me]; next_g[me] = NOTHING;
        if :: what == NOTHING -> spins = true; goto loop :: else fi
    };

found:
    if
    :: spins ->
           atomic { LOCK; spins = false; spinning--; PUBLISH_WANTED; asleep = wanted; UNLOCK };
           if :: asleep -> asleep = false; wake_one(false) :: else fi
    :: else
    fi;
    if :: MAY_RUN(me, what) -> goto running :: else fi;

    /* hand_off_p. */
    atomic { LOCK;
        if
        :: stopping -> UNLOCK; goto over
        :: else
        fi;
        if
        :: what == G ->
               m = 0; asleep = listed[0];
#ifdef MUTANT_ASLEEP_ONLY
               if :: !asleep -> p_of[me] = NONE; UNLOCK; goto park_m :: else fi;
#endif
#ifndef MUTANT_LEFT_ON_LIST
               if :: asleep -> take_off_list(0) :: else fi
#endif
        :: else -> take_m(false); asleep = true
        fi;
        if
        :: m < NM ->
               assert(next_p[m] == NONE);
#ifdef MUTANT_NOTIFIED_TOO_EARLY
               notified[m] = asleep; asleep = false;
               p = p_of[me]; p_of[me] = NONE;
#else
               next_p[m] = p_of[me]; next_g[m] = what; p_of[me] = NONE;
#endif
               PUBLISH_WANTED
        :: else
        fi;
        UNLOCK
    };
    if
    :: m == FAILED -> m = NONE; asleep = false; goto refused
    :: else
    fi;
#ifdef MUTANT_NOTIFIED_TOO_EARLY
    next_g[m] = what; next_p[m] = p; p = NONE;
#endif
    if :: asleep -> notified[m] = true; asleep = false :: else fi;
    m = NONE; what = NOTHING;
#ifdef MUTANT_NO_LOOK
    asleep = true;
#endif
    goto park_m;

refused:    /* H5 */
    assert(what == ORDINARY && me == 0 && pinned);
#ifdef MUTANT_BACK_TO_RING
    ring[p_of[me]]++;
    goto nap;
#endif
    atomic {        /* the queues' locks, one after the other: no other thread pushes to this ring */
        global_queue = global_queue + ring[p_of[me]] + 1; ring[p_of[me]] = 0;
        if :: g == p_of[me] -> g = GLOBAL :: else fi;
        what = NOTHING
    };
    after_push();
#ifndef MUTANT_NOT_LOOKED
    atomic { LOCK; asleep = (next_p[me] != NONE); UNLOCK };
    if :: asleep -> asleep = false; goto sleep_until_work :: else fi;
#endif
    atomic { if :: g == GLOBAL -> g = IN_HAND; what = G :: else fi };
    if :: what == G -> goto running :: else fi;
    if
    :: NP > 1 ->
           atomic { take_from(1 - p_of[me]) };
           if
           :: what == G -> goto running
           :: what == ORDINARY -> atomic { global_queue++; what = NOTHING }; after_push()
           :: else
           fi
    :: else
    fi;
nap:        /* Another round would find something only if one of these holds. */
    what = NOTHING;
    naps = true;
    G_CAN_RUN || next_p[0] != NONE || stopping || TO_BE_HAD(1) || TO_BE_HAD(NM - 1) || (NP > 1 && ring[1 - p_of[me]] > 0);
    naps = false;
    goto loop;

running:
progress_running:
    assert(p_of[me] != NONE);
    if
    :: me == 0 && pinned -> goto running_g
    :: else
    fi;
    assert(what == ORDINARY);
    do
    :: atomic { pushes > 0 -> pushes--; ring[p_of[me]]++ }; after_push()
    :: atomic { readies > 0 && g == PARKED -> readies--; g = p_of[me] }; after_push()
    :: goto loop                        /* ends */
    :: break                            /* or never returns */
    od;
    computes[me] = true;
    false;

running_g:
    g = RUNNING;
    do
    :: atomic { pushes > 0 -> pushes--; ring[p_of[me]]++ }; after_push()
    :: g = PARKED; goto loop
    :: atomic { readies > 0 -> readies--; g = p_of[me] }; after_push(); goto loop      /* yields */
    :: atomic { g = GONE; pinned = false; what = ORDINARY }; goto running               /* is unpinned */
    :: g = GONE; what = NOTHING; atomic { take_from(p_of[me]) }; goto retire
    :: break
    od;
    computes[me] = true;
    false;

retire:     /* hand_off_p, with what was to run next, or with nothing */
progress_retire:
#ifndef MUTANT_RETIRED_WITH_P
    atomic { LOCK;
        if
        :: stopping -> UNLOCK; goto over
        :: else -> take_m(false)
        fi;
        if
        :: m < NM ->
               next_p[m] = p_of[me]; next_g[m] = what; p_of[me] = NONE; unavailable++;
               if :: what == NOTHING -> spinning++ :: else fi;
               PUBLISH_WANTED
        :: else
        fi;
        UNLOCK
    };
    if :: m == FAILED -> m = NONE; goto retire :: else fi;
    notified[m] = true; m = NONE;
#ifndef MUTANT_RETIRED_UNSEEN
    after_push()    /* the M that was to search may be the one that has the P now, and this one does not go idle */
#endif
#endif

over:
    ended[me] = true
}

proctype outside() {
    byte n = NOUT, p = NONE, m = NONE;
    do
    :: n > 0 ->
           n--;
           if
           :: global_queue++
           :: atomic { g == PARKED -> g = GLOBAL }
           fi;
           if
           :: idle_ps > 0 && spinning == 0 -> wake_one(true)
           :: else
           fi
    :: else -> break
    od
}

#ifdef STOP
proctype stop() {
    byte n = 0;
    atomic { LOCK;
        stopping = true;
        do
        :: n < NM ->
#ifdef MUTANT_STOP_FORGETS
               if :: listed[n] && !(n == 0 && pinned) -> take_off_list(n); notified[n] = true :: else fi;
#else
               if :: listed[n] -> take_off_list(n); notified[n] = true :: else fi;
#endif
               n++
        :: else -> break
        od;
        UNLOCK
    }
}
#define ASLEEP(m) (!unborn[m] && !ended[m] && !computes[m])
#endif

#define SOMEBODY_TIMED  (timed[0] || timed[1] || timed[NM - 1])
#define COMPUTES_ON(q)  (((computes[0] || naps) && p_of[0] == q) || (computes[1] && p_of[1] == q) || (computes[NM - 1] && p_of[NM - 1] == q))

active proctype monitor() {
    timeout && !SOMEBODY_TIMED;
#ifdef STOP
    assert(!ASLEEP(0) && !ASLEEP(1) && !ASLEEP(NM - 1));
#else
    assert(spinning == 0 && !lock);
    assert(g != IN_HAND && !(naps && (G_CAN_RUN || next_p[0] != NONE)));
    assert((idle_p[0] || COMPUTES_ON(0)) && (idle_p[NP - 1] || COMPUTES_ON(NP - 1)));
    assert(idle_ps == 0 || !G_CAN_RUN);
    assert(idle_ps == 0 || !QUEUED_ORDINARY || !(TO_BE_HAD(0) || TO_BE_HAD(1) || TO_BE_HAD(NM - 1)))
#endif
}

init {
    byte n = 0;
    atomic {
        do :: n < NM -> p_of[n] = NONE; next_p[n] = NONE; unborn[n] = (n != 0); n++ :: else -> n = 0; break od;
        do :: n < NP -> idle_p[n] = (n != 0); n++ :: else -> n = 0; break od;
        p_of[0] = 0; idle_ps = NP - 1; PUBLISH_WANTED;
        do :: n < NM -> run M(n); n++ :: else -> n = 0; break od;
#if NOUT > 0
        run outside();
#endif
#ifdef STOP
        run stop()
#endif
    }
}
