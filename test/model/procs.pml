/* procs.pml: a design: changing the number of Ps while Ms steal, hand off, lose their Ps and
 * sleep.
 *
 * The problem. A P that must go may be idle, running, on its way from one M to another, or held
 * by an M that computes for ever. It may have green threads in its ring and timers in its queue.
 * Ms without a P may remember it as their last one.
 *
 * The protocol. ps[] has room for the maximum and never moves. A P is idle, running (or on its
 * way), or dead. A dead P is on no list and has nothing. Its timer queue is closed: a thread
 * that adds a timer checks that under the queue's lock, and uses the queue of P 0 instead, which
 * never goes. procs is the target number of Ps; it changes under the idle lock. dying counts Ps with
 * index >= procs that are not dead yet. One change runs at a time, from begin to end, under a
 * separate lock (not a spin lock).
 *
 *   up      U1  the idle lock: the timer queues of [old, n) open; those Ps are put on the idle list; procs = n; publish wanted
 *           U2  as after an external push: full fence, and an M is woken unless one spins. That M, and the chain of
 *               wake-ups behind it, find what waits. What they do not find needs no search
 *
 *   down    D1  the idle lock: procs = n; dying = the Ps of [n, old); the idle ones leave the idle list, and belong to the
 *               caller; publish
 *           D2  those are emptied: E1 to E3
 *           D3  the others are asked to hurry, and the monitor is told to become active
 *           D4  waits (parks, as any wait: its own P may be one of them) until dying == 0, or the runtime stops
 *
 * An M that reaches g0 with a P of index >= procs empties it, and continues without one, by the
 * idle protocol from step 2 on. It checks this each time before it searches for work, and once
 * more under the idle lock when it is about to put its P on the idle list.
 *
 * The monitor retakes such a P like any other, from an M outside of the runtime, by R1 to R4 of
 * retake.h. It needs no M to hand it to, and does not depend on whether all others are busy. It
 * then empties the P itself.
 *
 *   emptying, by the owner of the P, or by the thread that took it off the list or retook it, which is the same:
 *           E1  under its lock the timer queue is closed; all timers go to P 0's, under that queue's lock
 *           E2  run_next and the ring, one by one as any owner pops, because thieves may be stealing; high, low: to the
 *               global queues. Caches: to the pools
 *           E3  the idle lock: the owner word = 0, not while a thief holds it; dead; --dying, and the caller of the change
 *               is notified
 *           E4  as after an external push: full fence; the monitor is called if it is dormant, and an M is woken unless one
 *               spins. It is not like a push from g0, because this M runs no green thread next
 *
 * Ms. m->p of an M that has lost its P may be dead: take_back_p prefers it only if it is idle.
 * Comparisons of Ms with Ps (enough_ms_locked, busy in enter_idle_locked, start_spinning) use
 * procs + dying. Otherwise an M with a P that must go would pass for one on its way to sleep,
 * and work beside an idle P would wait until that P is dead. Scans and thieves cover [0, reach).
 * During a change reach is the larger of both numbers: it grows before D1 and U1, and shrinks
 * when dying is 0. Dead Ps are empty, so scanning too many is harmless.
 *
 * Memory is sequentially consistent here, and the scan of all places by an M is one step. What
 * depends on fences is in idle.pml, retake.pml and sysmon.pml. An M whose green thread is in
 * user code loses its P in one step.
 *
 * Checked: no green thread and no timer is lost or duplicated. At the end of a change, no P with
 * index >= procs is held by an M, or on the list, or has anything. An M never takes a dead P.
 * When nothing can move, the change has ended, and nothing is queued and no timer is due while a
 * P is idle and an M is available.
 *
 * Each define MUTANT_… omits one thing from the protocol; its check must find that.
 * See docs/models.md.
 */
/* spin: down        expect=ok   pan="-E -m200000 -w25" cc="-O1 -w -DSAFETY -DCOLLAPSE" defs="-DDOWN -DNPUSH=1 -DNTIMER=1" */
/* spin: up          expect=ok   pan="-E -m200000 -w25" cc="-O1 -w -DSAFETY -DCOLLAPSE" defs="-DUP -DNPUSH=3 -DNTIMER=1" */
/* spin: down_up     expect=ok   pan="-E -m200000 -w25" cc="-O1 -w -DSAFETY -DCOLLAPSE" defs="-DDOWN -DUP -DNPUSH=1" */
/* spin: retakes     expect=ok pan="-E -m200000 -w25" cc="-O1 -w -DSAFETY -DCOLLAPSE" defs="-DDOWN -DNPUSH=2 -DRETAKES=1" */
/* spin: mutant_timers_left      expect=fail pan="-E -m200000" cc="-O2 -w -DSAFETY" defs="-DDOWN -DNPUSH=1 -DNTIMER=1 -DMUTANT_TIMERS_LEFT" */
/* spin: mutant_open             expect=fail pan="-E -m200000" cc="-O2 -w -DSAFETY" defs="-DDOWN -DNPUSH=1 -DNTIMER=1 -DMUTANT_OPEN" */
/* spin: mutant_not_owned        expect=fail pan="-E -m200000" cc="-O2 -w -DSAFETY" defs="-DDOWN -DNPUSH=2 -DMUTANT_NOT_OWNED" */
/* spin: mutant_ring_left        expect=fail pan="-E -m200000" cc="-O2 -w -DSAFETY" defs="-DDOWN -DNPUSH=2 -DMUTANT_RING_LEFT" */
/* spin: mutant_silent_up        expect=fail pan="-E -m200000" cc="-O2 -w -DSAFETY" defs="-DUP -DNPUSH=2 -DMUTANT_SILENT_UP" */
/* spin: mutant_silent_emptying  expect=fail pan="-E -m200000" cc="-O2 -w -DSAFETY" defs="-DDOWN -DNPUSH=2 -DMUTANT_SILENT_EMPTYING" */
/* spin: mutant_dead_listed      expect=fail pan="-E -m200000" cc="-O2 -w -DSAFETY" defs="-DDOWN -DNPUSH=1 -DMUTANT_DEAD_LISTED" */
/* spin: mutant_dead_taken_back  expect=fail pan="-E -m200000" cc="-O2 -w -DSAFETY" defs="-DDOWN -DNPUSH=1 -DMUTANT_DEAD_TAKEN_BACK" */
/* spin: mutant_not_retaken      expect=fail pan="-E -m200000" cc="-O2 -w -DSAFETY" defs="-DDOWN -DNPUSH=1 -DMUTANT_NOT_RETAKEN" */

#define NP 2            /* Ps; P 1 comes and goes */
#ifndef NM
#define NM 3            /* Ms, most of them not created yet */
#endif
#ifndef NPUSH
#define NPUSH 0         /* pushes by green threads, together */
#endif
#ifndef NTIMER
#define NTIMER 0        /* timers set by green threads, together */
#endif
#ifndef NOUT
#define NOUT 0          /* pushes by external threads */
#endif
#ifndef RETAKES
#define RETAKES 0       /* times that the monitor retakes a P for another M */
#endif
#ifdef DOWN
#define AT_FIRST 2
#else
#define AT_FIRST 1
#endif
#define NONE 15

/* ---- Work. */
byte ring[NP], global_queue = 0;
byte set_timers[NP], due_timers[NP];
bool closed[NP];
byte pushes = NPUSH, timers = NTIMER, retakes = RETAKES;
byte born = 0, taken = 0, timers_set = 0, timers_fired = 0;

#define QUEUED (global_queue > 0 || ring[0] > 0 || ring[1] > 0 || due_timers[0] > 0 || due_timers[1] > 0)

/* ---- Guarded by lock. */
bool lock = false, wanted = false, sentinel_near = false;
byte procs = AT_FIRST, dying = 0;
bool idle_p[NP], dead[NP], listed[NM];
byte idle_ps = AT_FIRST - 1, spinning = 0, sentinel = NONE, ms_without_p = 0, made = 1;

/* ---- Ms and Ps. */
bool unborn[NM], told[NM], timed[NM], in_user[NM], computes[NM];
byte next_p[NM], owner[NP];
bool changes = true;    /* a change runs, or will run */

#define LOCK   !lock -> lock = true
#define UNLOCK lock = false
#define PUBLISH_WANTED wanted = (idle_ps > 0 && spinning == 0 && !(sentinel != NONE && sentinel_near))
#define IN_USE (procs + dying)

inline take_off_list(m) {
    listed[m] = false;
    if :: sentinel == m -> sentinel = NONE; sentinel_near = false :: else fi
}

/* m: an idle M, or a new one; NONE if there is none, or an M is on its way to sleep. */
inline take_m() {
    if
    :: listed[0] -> m = 0
    :: listed[1] -> m = 1
    :: listed[NM - 1] -> m = NM - 1
    :: else -> m = NONE
    fi;
    if
    :: m != NONE -> take_off_list(m)
    :: m == NONE && made - ms_without_p < IN_USE ->
           m = 1;
           do :: m < NM && !unborn[m] -> m++ :: else -> break od;
           if :: m == NM -> m = NONE :: else -> unborn[m] = false; made++ fi
    :: else
    fi
}

/* n: an idle P. */
inline take_idle_p(n) {
    n = (idle_p[0] -> 0 : 1);
    assert(idle_p[n]);
    idle_p[n] = false; idle_ps--
}

inline wake_one(from_outside) {
    atomic { LOCK;
        if
        :: idle_ps > 0 && ((from_outside && spinning == 0) || (!from_outside && wanted)) ->
               take_m();
               if
               :: m != NONE -> take_idle_p(n); spinning++; assert(next_p[m] == NONE); next_p[m] = n; told[m] = true; n = 0; m = NONE
               :: else
               fi;
               PUBLISH_WANTED
        :: else
        fi;
        UNLOCK
    }
}

inline after_push() { if :: wanted -> wake_one(false) :: else fi }

inline wake_for_outside() { if :: idle_ps > 0 && spinning == 0 -> wake_one(true) :: else fi }

/* E1 to E3, of P number q. */
inline empty_p(q) {
    atomic {                                                                            /* E1 */
#ifndef MUTANT_OPEN
        closed[q] = true;
#endif
#ifndef MUTANT_TIMERS_LEFT
        set_timers[0] = set_timers[0] + set_timers[q]; set_timers[q] = 0;
        due_timers[0] = due_timers[0] + due_timers[q]; due_timers[q] = 0
#endif
    };
#ifndef MUTANT_RING_LEFT
    do                                                                                  /* E2 */
    :: atomic { ring[q] > 0 -> ring[q]-- }; global_queue++
    :: atomic { ring[q] == 0 -> break }
    od;
#endif
    atomic { LOCK; owner[q] = NONE; dead[q] = true; dying--; UNLOCK };                  /* E3 */
#ifndef MUTANT_SILENT_EMPTYING
    wake_for_outside()                                                                  /* E4 */
#endif
}

inline acquire_p(q) {
    assert(owner[q] == NONE && !dead[q] && !idle_p[q]);
    owner[q] = me; p = q
}

#define HAS_P (owner[p] == me)

proctype M(byte me) {
    byte p = NONE, m = NONE, n = 0;
    bool spins = false, far = false;

    if
    :: me == 0 -> p = 0; goto running
    :: else -> goto asleep_now
    fi;

loop:
    if
    :: p >= procs ->
           if
           :: spins -> atomic { LOCK; spins = false; spinning--; PUBLISH_WANTED; UNLOCK }
           :: else
           fi;
           empty_p(p);
           p = NONE; goto park_m
    :: else
    fi;
    atomic { if :: due_timers[p] > 0 -> due_timers[p]--; timers_fired++; born++; ring[p]++ :: else fi };
    if :: atomic { ring[p] > 0 -> ring[p]--; goto found } :: else fi;
    if :: atomic { global_queue > 0 -> global_queue--; goto found } :: else fi;
    if
    :: !spins ->
           atomic { LOCK;
               if :: 2 * spinning < IN_USE - idle_ps -> spins = true; spinning++; PUBLISH_WANTED :: else fi;
               UNLOCK
           }
    :: else
    fi;
    if
    :: spins ->
           if :: atomic { ring[1 - p] > 0 -> ring[1 - p]--; goto found } :: else fi;
           if
           :: atomic { due_timers[1 - p] > 0 -> due_timers[1 - p]--; timers_fired++; born++; ring[p]++; goto loop }
           :: else
           fi
    :: else
    fi;
    /* Nothing found: step 1 of idle.h. */
    atomic { LOCK;
#ifndef MUTANT_DEAD_LISTED
        if :: p >= procs -> UNLOCK; goto loop :: else fi;
#endif
        assert(ring[p] == 0 && owner[p] == me);
        owner[p] = NONE; idle_p[p] = true; idle_ps++; p = NONE;
        if :: spins -> spinning--; spins = false :: else fi;
        PUBLISH_WANTED;
        UNLOCK
    };

park_m:
    atomic { LOCK };
again:  /* The lock is held. */
    atomic {
        if
        :: QUEUED && idle_ps > 0 ->
               take_idle_p(n); spinning++; PUBLISH_WANTED;
               acquire_p(n); n = 0; spins = true; far = false;
               UNLOCK;
               goto loop
        :: else
        fi;
        listed[me] = true;
        if
        :: sentinel == NONE || (!far && idle_ps < IN_USE && !sentinel_near) ->
               sentinel = me; sentinel_near = (!far && idle_ps < IN_USE); timed[me] = sentinel_near
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
    :: told[me] -> goto awake
    :: timed[me] && !told[me]
    :: sentinel == me && (due_timers[0] > 0 || due_timers[1] > 0) && idle_ps > 0 && !told[me]   /* its timeout */
    fi;
    atomic { LOCK; timed[me] = false };
    if
    :: atomic { !listed[me] -> UNLOCK }; told[me]; goto awake
    :: else
    fi;
    atomic { take_off_list(me); if :: far = true :: far = false fi };
    goto again;

awake:
    atomic {
        told[me] = false; timed[me] = false; far = false;
        acquire_p(next_p[me]); next_p[me] = NONE; spins = true
    };
    goto loop;

found:
    taken++;
    if
    :: spins ->
           atomic { LOCK; spins = false; spinning--; PUBLISH_WANTED; UNLOCK };
           after_push()
    :: else
    fi;

running:
    in_user[me] = true;
    do
    :: atomic { HAS_P && pushes > 0 -> pushes--; born++; ring[p]++ }; after_push()
    :: atomic { HAS_P && timers > 0 -> timers--; timers_set++; assert(!closed[p]); set_timers[p]++ }; after_push()
    :: atomic { HAS_P -> in_user[me] = false; goto loop }                               /* ends */
    :: atomic { !HAS_P && pushes > 0 -> pushes--; born++; global_queue++ }; wake_for_outside()
    :: atomic { !HAS_P && timers > 0 -> timers--; timers_set++; n = (closed[p] -> 0 : p); set_timers[n]++; n = 0 };
       wake_for_outside()
    :: atomic { !HAS_P && LOCK;                                                         /* take_back_p */
           in_user[me] = false;
           if
#ifdef MUTANT_DEAD_TAKEN_BACK
           :: owner[p] == NONE && idle_ps > 0 -> idle_ps--; ms_without_p--; idle_p[p] = false; PUBLISH_WANTED; acquire_p(p)
           :: else -> UNLOCK; goto lost
#else
           :: idle_ps > 0 ->
                  n = p;
                  if :: idle_p[n] -> idle_p[n] = false; idle_ps-- :: else -> take_idle_p(n) fi;
                  ms_without_p--; PUBLISH_WANTED; acquire_p(n); n = 0
           :: else -> UNLOCK; goto lost
#endif
           fi;
           in_user[me] = true;
           UNLOCK }
    :: atomic { !HAS_P -> in_user[me] = false; goto lost }                              /* parks, or ends */
    :: computes[me] = true; break
    od;
    false;

lost:   /* come_back_without_p */
    atomic { LOCK; ms_without_p--; p = NONE; UNLOCK };
    goto park_m
}

/* The M that holds P number q is in user code. */
#define TO_BE_RETAKEN(q) (owner[q] != NONE && in_user[owner[q]])

proctype monitor() {
    byte m = NONE, n = 0;
end:
    do
#ifndef MUTANT_NOT_RETAKEN
    :: atomic { procs == 1 && TO_BE_RETAKEN(1) && LOCK -> owner[1] = NONE; ms_without_p++; UNLOCK };
       empty_p(1)
#endif
    :: atomic { retakes > 0 && QUEUED && idle_ps == 0 && spinning == 0 && (TO_BE_RETAKEN(0) || TO_BE_RETAKEN(1)) && LOCK;
           retakes--;
           n = (TO_BE_RETAKEN(0) -> 0 : 1);
           ms_without_p++; take_m();                   /* a target; without one the P stays where it is */
           if
           :: m != NONE -> owner[n] = NONE; spinning++; next_p[m] = n; told[m] = true; m = NONE; PUBLISH_WANTED
           :: else -> ms_without_p--
           fi;
           n = 0;
           UNLOCK }
    od
}

#define MAY_RUN(q) (owner[q] != NONE || idle_p[q])

proctype changer() {
    byte m = NONE, n = 0;
    bool ours = false;
#ifdef DOWN
    atomic { LOCK;                                                                      /* D1 */
        procs = 1; dying = 1;
        if :: idle_p[1] -> idle_p[1] = false; idle_ps--; ours = true :: else fi;
        PUBLISH_WANTED;
        UNLOCK
    };
    if
    :: ours -> empty_p(1)                                                               /* D2 */
    :: else
    fi;
#ifdef MUTANT_NOT_OWNED
    n = ring[1]; ring[1] = 0; global_queue = global_queue + n; n = 0;
#endif
    dying == 0;                                                                         /* D4 */
    atomic {
        assert(procs == 1 && dead[1] && !MAY_RUN(1) && ring[1] == 0 && set_timers[1] == 0 && due_timers[1] == 0);
        assert(next_p[0] != 1 && next_p[1] != 1 && next_p[NM - 1] != 1);
        ours = false
    };
#endif
#ifdef UP
    atomic { LOCK;                                                                      /* U1 */
        assert(dead[1] && ring[1] == 0);
        dead[1] = false; closed[1] = false; idle_p[1] = true; idle_ps++; procs = 2;
        PUBLISH_WANTED;
        UNLOCK
    };
#ifndef MUTANT_SILENT_UP
    wake_for_outside();                                                                 /* U2 */
#endif
#endif
    changes = false
}

proctype clock() {
end:
    do
    :: atomic { set_timers[0] > 0 -> set_timers[0]--; due_timers[0]++ }
    :: atomic { set_timers[1] > 0 && !dead[1] -> set_timers[1]--; due_timers[1]++ }
    od
}

#if NOUT > 0
proctype outside() {
    byte m = NONE, n = 0, left = NOUT;
    do
    :: left > 0 -> atomic { left--; born++; global_queue++ }; wake_for_outside()
    :: left == 0 -> break
    od
}
#endif

#define SOMEBODY_TIMED (timed[0] || timed[1] || timed[NM - 1])
#define COMPUTES_ON(q) (owner[q] != NONE && computes[owner[q]])
#define TO_BE_HAD(m)   (unborn[m] || listed[m])

active proctype end_of_all() {
    timeout && !SOMEBODY_TIMED;
    assert(!lock && spinning == 0 && !changes && dying == 0);
    assert(idle_p[0] || COMPUTES_ON(0));
    assert(idle_p[1] || COMPUTES_ON(1) || dead[1]);
    assert(dead[1] == (procs == 1));
    assert(born == taken + global_queue + ring[0] + ring[1]);
    assert(timers_set == timers_fired + due_timers[0] + due_timers[1] + set_timers[0] + set_timers[1]);
    assert(!dead[1] || (ring[1] == 0 && due_timers[1] == 0 && set_timers[1] == 0));
    assert(idle_ps == 0 || !QUEUED || !(TO_BE_HAD(0) || TO_BE_HAD(1) || TO_BE_HAD(NM - 1)))
}

init {
    byte n = 0;
    atomic {
        do :: n < NM -> next_p[n] = NONE; unborn[n] = (n != 0); n++ :: else -> n = 0; break od;
        owner[0] = 0; owner[1] = NONE;
        idle_p[1] = (AT_FIRST == 2); dead[1] = (AT_FIRST == 1); closed[1] = dead[1];
        PUBLISH_WANTED;
        do :: n < NM -> run M(n); n++ :: else -> n = 0; break od;
        run monitor();
        run changer();
#if NTIMER > 0
        run clock();
#endif
#if NOUT > 0
        run outside();
#endif
        skip
    }
}
