/* sysmon.pml: the monitor goes dormant, F1 to F4 against N1 to N3 of src/monitor/sysmon.h: no
 * work waits for a P while all compute and the monitor sleeps without a timeout.
 *
 * There is one process for each P, whichever M holds it. Green threads are counts. A running one
 * pushes, sets a timer and continues or waits for it, ends, or computes for ever. On g0 it fires
 * its timer, takes from its ring, takes a batch from the global queue, steals, or makes its P
 * idle.
 *
 * Of the idle protocol (idle.pml) only the counts are modelled. An idle P may at any moment be
 * taken by an M that searches for work, or by an M in user code that had lost its own
 * (take_back_p); WAKES bounds how often. That M need not find anything, because the property
 * says nothing while a P is idle. A P that is handed off for a blocking call counts as spinning
 * until no thread turns out to be available; its M then has it back, and calls the monitor.
 * While the monitor is active, it may retake a P from a green thread that computes, and hand it to
 * another M. An idle P that is about to get a new M also counts as spinning until no thread
 * turns out to be available. It then lacks an M, and counts as absent until a P is given up.
 *
 * What the code does under the idle lock with data that only the holder touches is one step. Scans
 * of queues and timers take one step for each place, in the order of the code. So does every
 * move from one place to another.
 *
 * Store buffers (TSO). Pushes, timers, and the store that frees the lock, with what was written
 * under it, wait in their thread's buffer and leave it in order, at any moment. Locked
 * instructions and full fences empty the thread's own buffer, the heavy fence those of all
 * threads, one after the other.
 *
 * Time. How long the monitor stays active is a free choice once it has seen nothing queued. When
 * it is dormant, it is woken by a call, by the deadline that it knows, or soon, if it has
 * decided so.
 *
 * A change of the number of Ps (scan_soon) must reach the monitor whatever else happens: C1 to
 * C4 against T1 and T2. It occurs once, or twice.
 *
 * Checked, when nothing can move: nothing is queued and no timer is due while no P is idle (or
 * the idle ones lack an M), no M spins and the monitor sleeps without a timeout. It never sleeps
 * so with an unseen change.
 *
 * Each define MUTANT_… omits one thing from the protocol; its check must find that. See
 * docs/models.md.
 */
/* spin: pushes      expect=ok   pan="-E -m100000 -w25" cc="-O1 -w -DSAFETY -DCOLLAPSE" defs="-DNPUSH=2 -DWAKES=2" */
/* spin: overflow    expect=ok   pan="-E -m100000 -w25" cc="-O1 -w -DSAFETY -DCOLLAPSE" defs="-DNPUSH=2 -DOVERFLOW" */
/* spin: outside     expect=ok   pan="-E -m100000 -w25" cc="-O1 -w -DSAFETY -DCOLLAPSE" defs="-DNPUSH=1 -DNOUT=1" */
/* spin: timers      expect=ok   pan="-E -m100000 -w25" cc="-O1 -w -DSAFETY -DCOLLAPSE" defs="-DNPUSH=1 -DNTIMER=1" */
/* spin: retakes     expect=ok   pan="-E -m100000 -w25" cc="-O1 -w -DSAFETY -DCOLLAPSE" defs="-DNPUSH=2 -DRETAKES=1" */
/* spin: refused     expect=ok   pan="-E -m100000 -w25" cc="-O1 -w -DSAFETY -DCOLLAPSE" defs="-DNPUSH=2 -DREFUSALS=1" */
/* spin: lacking     expect=ok   pan="-E -m100000 -w25" cc="-O1 -w -DSAFETY -DCOLLAPSE" defs="-DNPUSH=2 -DLACKS=1" */
/* spin: lacking_out expect=ok   pan="-E -m100000 -w25" cc="-O1 -w -DSAFETY -DCOLLAPSE" defs="-DNOUT=1 -DLACKS=1" */
/* spin: changes     expect=ok   pan="-E -m100000 -w25" cc="-O1 -w -DSAFETY -DCOLLAPSE" defs="-DNPUSH=1 -DCHANGES=2" */
/* spin: one         expect=ok   pan="-E -m100000 -w25" cc="-O1 -w -DSAFETY -DCOLLAPSE" defs="-DNP=1 -DNPUSH=2 -DNOUT=1 -DNTIMER=1 -DRETAKES=1" */
/* spin: mutant_no_heavy_fence     expect=fail pan="-E -m100000" cc="-O2 -w -DSAFETY" defs="-DNPUSH=1 -DMUTANT_NO_HEAVY_FENCE" */
/* spin: mutant_no_last_look       expect=fail pan="-E -m100000" cc="-O2 -w -DSAFETY" defs="-DNPUSH=1 -DMUTANT_NO_LAST_LOOK" */
/* spin: mutant_silent_push        expect=fail pan="-E -m100000" cc="-O2 -w -DSAFETY" defs="-DNPUSH=1 -DMUTANT_SILENT_PUSH" */
/* spin: mutant_silent_g0          expect=fail pan="-E -m100000" cc="-O2 -w -DSAFETY" defs="-DNPUSH=2 -DMUTANT_SILENT_G0" */
/* spin: mutant_silent_take_back   expect=fail pan="-E -m100000" cc="-O2 -w -DSAFETY" defs="-DNPUSH=2 -DMUTANT_SILENT_TAKE_BACK" */
/* spin: mutant_silent_refusal     expect=fail pan="-E -m100000" cc="-O2 -w -DSAFETY" defs="-DNP=1 -DNPUSH=2 -DREFUSALS=1 -DMUTANT_SILENT_REFUSAL" */
/* spin: mutant_silent_lack        expect=fail pan="-E -m100000" cc="-O2 -w -DSAFETY" defs="-DNPUSH=2 -DLACKS=1 -DMUTANT_SILENT_LACK" */
/* spin: mutant_lack_is_idle       expect=fail pan="-E -m100000" cc="-O2 -w -DSAFETY" defs="-DNPUSH=2 -DLACKS=1 -DMUTANT_LACK_IS_IDLE" */
/* spin: mutant_reset_before_sleep expect=fail pan="-E -m100000" cc="-O2 -w -DSAFETY" defs="-DCHANGES=2 -DMUTANT_RESET_BEFORE_SLEEP" */
/* spin: mutant_stops_late         expect=fail pan="-E -m100000" cc="-O2 -w -DSAFETY" defs="-DNPUSH=3 -DMUTANT_STOPS_LATE" */
/* spin: mutant_outside_blind      expect=fail pan="-E -m100000" cc="-O2 -w -DSAFETY" defs="-DNOUT=1 -DMUTANT_OUTSIDE_BLIND" */
/* spin: mutant_deadline_forgotten expect=fail pan="-E -m100000" cc="-O2 -w -DSAFETY" defs="-DNTIMER=1 -DMUTANT_DEADLINE_FORGOTTEN" */
/* spin: mutant_timers_first       expect=fail pan="-E -m100000" cc="-O2 -w -DSAFETY" defs="-DNPUSH=1 -DNTIMER=1 -DMUTANT_TIMERS_FIRST" */
/* spin: mutant_only_while_busy    expect=fail pan="-E -m100000" cc="-O2 -w -DSAFETY" defs="-DNPUSH=2 -DMUTANT_ONLY_WHILE_BUSY" */

#ifndef NP
#define NP 2            /* Ps */
#endif
#ifndef NPUSH
#define NPUSH 0         /* pushes by green threads, together */
#endif
#ifndef NOUT
#define NOUT 0          /* pushes by external threads */
#endif
#ifndef NTIMER
#define NTIMER 0        /* timers set by green threads on P 0: 0 or 1 */
#endif
#ifndef WAKES
#define WAKES 1         /* times that an idle P is taken */
#endif
#ifndef REFUSALS
#define REFUSALS 0      /* times that a P is handed off, and returns because no thread is available */
#endif
#ifndef LACKS
#define LACKS 0         /* times that an idle P needs a new M, and no thread is available */
#endif
#ifndef CHANGES
#define CHANGES 0       /* times that scan_soon is called */
#endif
#ifndef RETAKES
#define RETAKES 0
#endif
#define OUTSIDE NP      /* the numbers of store buffers: one for each P, … */
#define MONITOR (NP + 1)
#if CHANGES > 0
#define CHANGER (NP + 2)
#define THREADS (NP + 3)
#else
#define THREADS (NP + 2)
#endif

/* ---- Work. */
byte ring[NP];                      /* as all threads see it */
byte global_queue = 0;
byte timer = 0;                     /* on P 0: 0 none, 1 set, 2 due */
bool rang = false;                  /* its deadline has passed */
byte pushes = NPUSH, timers = NTIMER, wakes = WAKES, retakes = RETAKES, refusals = REFUSALS, refused = LACKS;

#define QUEUED (global_queue > 0 || ring[0] > 0 || ring[NP - 1] > 0)

/* ---- idle_state, guarded by lock. */
bool lock = false;
byte idle_ps = NP - 1, spinning = 0;
bool dormant = false, until_alarm = false, lacks = false, change = false;

bool computes[NP], target[NP];

/* ---- The monitor. */
bool called = false, asleep = false;

/* ---- Store buffers. */
byte seen_idle = NP - 1, seen_spinning = 0;     /* what is read without the lock */
bool seen_dormant = false, seen_lacks = false, seen_change = false;
bool b_unlock[THREADS], b_timer[THREADS];
byte b_ring[THREADS], b_global[THREADS];

#define EMPTY(t)         (!b_unlock[t] && b_ring[t] == 0 && b_global[t] == 0 && !b_timer[t])
#define LOCK(t)          (EMPTY(t) && !lock) -> lock = true
#define UNLOCK(t)        b_unlock[t] = true
#define OWN_DORMANT(t)   (b_unlock[t] -> WANTED : seen_dormant)

#ifdef MUTANT_LACK_IS_IDLE
#define NO_IDLE(n, l) (n == 0)
#else
#define NO_IDLE(n, l) (n == 0 || l)
#endif

#ifdef MUTANT_ONLY_WHILE_BUSY
#define WANTED (dormant && idle_ps == 0 && spinning == 0)
#else
#define WANTED dormant
#endif

inline free_lock(t) {
    seen_idle = idle_ps; seen_spinning = spinning; seen_dormant = WANTED; seen_lacks = lacks; seen_change = change;
    lock = false; b_unlock[t] = false
}

inline drain(t) {
    if :: b_unlock[t] -> free_lock(t) :: else fi;
    if :: b_ring[t] > 0 -> ring[t] = ring[t] + b_ring[t]; b_ring[t] = 0 :: else fi;
    if :: b_timer[t] -> timer = 1; b_timer[t] = false :: else fi;
    global_queue = global_queue + b_global[t]; b_global[t] = 0
}

proctype store_buffer(byte t) {
end:
    do
    :: atomic { b_unlock[t] -> free_lock(t) }
    :: atomic { !b_unlock[t] && b_ring[t] > 0 -> ring[t]++; b_ring[t]-- }
    :: atomic { !b_unlock[t] && b_timer[t] -> timer = 1; b_timer[t] = false }
    :: atomic { !b_unlock[t] && b_global[t] > 0 -> global_queue++; b_global[t]-- }
    od
}

/* anything_to_do, except timers. Sets found. The lock, or the fence, has drained the thread's
   own buffer. */
inline scan() {
    found = (global_queue > 0);
    do
    :: atomic { i < NP && !found -> found = (ring[i] > 0); i++ }
    :: atomic { i == NP || found -> i = 0; break }
    od
}

inline call_monitor(t) {
    atomic { LOCK(t); found = false };
    if
    :: dormant && NO_IDLE(idle_ps, lacks) && spinning == 0 ->
#ifdef MUTANT_TIMERS_FIRST
           found = (timer != 0 && !until_alarm);
           if :: !found -> scan() :: else fi
#else
           scan();
           if :: timer != 0 && !until_alarm -> found = true :: else fi      /* last: Leaving, in idle.h */
#endif
    :: else
    fi;
    atomic { if :: found -> dormant = false :: else fi; UNLOCK(t) };
    if
    :: found -> atomic { EMPTY(t) -> called = true; found = false }
    :: else
    fi
}

/* N2 and N3. */
inline after_push(t) {
#ifndef MUTANT_SILENT_PUSH
    if
    :: OWN_DORMANT(t) -> call_monitor(t)
    :: else
    fi
#else
    skip
#endif
}

inline stop_spinning() {
    if
    :: atomic { spins && EMPTY(me) && !lock -> lock = true; spins = false; spinning--; UNLOCK(me) }
    :: !spins
    fi
}

/* ---- P number me, and the M that holds it. */
proctype P(byte me) {
    bool spins = false, found = false;
    byte hand = 0, i = 0;

    if
    :: me == 0 -> goto running
    :: else -> goto idle
    fi;

g0:
#if NTIMER > 0
    if
    :: atomic { me == 0 && timer == 2 -> drain(me); timer = 0 };
       b_ring[me]++         /* after_push leaves calling the monitor to execute */
    :: else
    fi;
#endif
    if
    :: atomic { ring[me] + b_ring[me] > 0 -> drain(me); ring[me]--; goto execute }
    :: else
    fi;
#if NOUT > 0 || defined(OVERFLOW)
    if
    :: atomic { global_queue > 0 ->
           drain(me);
           hand = (global_queue < global_queue / NP + 1 -> global_queue : global_queue / NP + 1);
           global_queue = global_queue - hand; hand-- };
       atomic { b_ring[me] = b_ring[me] + hand; hand = 0; goto execute }
    :: else
    fi;
#endif
    if
    :: !spins ->
           atomic { LOCK(me);
               if :: 2 * spinning < NP - idle_ps -> spins = true; spinning++ :: else fi;
               UNLOCK(me)
           }
    :: else
    fi;
#if NP > 1
    if
    :: spins ->             /* steal */
           if
           :: atomic { ring[1 - me] > 0 ->
                  drain(me);
                  hand = (ring[1 - me] + 1) / 2;
                  ring[1 - me] = ring[1 - me] - hand; hand-- };
              atomic { b_ring[me] = b_ring[me] + hand; hand = 0; goto execute }
           :: else
           fi
    :: else
    fi;
#endif
#if NTIMER > 0
    if
    :: atomic { spins && me != 0 && timer == 2 -> drain(me); timer = 0 };
       b_ring[me]++;
       goto g0
    :: else
    fi;
#endif
    atomic { LOCK(me);      /* sleep_until_work, step 1 */
        idle_ps++; lacks = false;
        if :: spins -> spinning--; spins = false :: else fi;
        UNLOCK(me)
    };

idle:
    if
    :: atomic { wakes > 0 && EMPTY(me) && !lock ->              /* an M that searches for work takes it */
           wakes--; lock = true; idle_ps--; spinning++; spins = true; UNLOCK(me); goto g0 }
    :: atomic { wakes > 0 && EMPTY(me) && !lock ->              /* take_back_p */
           wakes--; lock = true; idle_ps--; UNLOCK(me) };
#ifndef MUTANT_SILENT_TAKE_BACK
       call_monitor(me);
#endif
       goto running
    :: wakes == 0 -> false
    fi;

execute:
#ifndef MUTANT_STOPS_LATE
    stop_spinning();
#endif
#ifndef MUTANT_SILENT_G0
    if
    :: OWN_DORMANT(me) -> call_monitor(me)
    :: else
    fi;
#endif
#ifdef MUTANT_STOPS_LATE
    stop_spinning();
#endif

running:
    do
    :: atomic { pushes > 0 -> pushes--; b_ring[me]++ };                         /* N1 */
       after_push(me)
#ifdef OVERFLOW
    :: atomic { pushes > 0 -> pushes--; drain(me); b_global[me]++ };
       after_push(me)
#endif
#if NTIMER > 0
    :: atomic { timers > 0 && me == 0 -> timers--; drain(me); b_timer[me] = true };
       after_push(me)
    :: atomic { timers > 0 && me == 0 -> timers--; drain(me); b_timer[me] = true };         /* and waits until then … */
       if
       :: goto g0
       :: atomic { ring[me] + b_ring[me] > 0 -> drain(me); ring[me]-- }                     /* … while the next one runs */
       fi
#endif
#if REFUSALS > 0
    :: atomic { refusals > 0 && EMPTY(me) && !lock -> refusals--; lock = true; spinning++; UNLOCK(me) };   /* to hand it to another M */
       atomic { EMPTY(me) && !lock -> lock = true; spinning--; UNLOCK(me) };
#ifndef MUTANT_SILENT_REFUSAL
       call_monitor(me)
#endif
#endif
#if LACKS > 0
    :: atomic { refused > 0 && idle_ps > 0 && spinning == 0 && !lacks && EMPTY(me) && !lock ->   /* wake_one, for a new M */
           refused--; lock = true; idle_ps--; spinning++; UNLOCK(me) };
       atomic { EMPTY(me) && !lock -> lock = true; idle_ps++; spinning--; lacks = true; UNLOCK(me) };
#ifndef MUTANT_SILENT_LACK
       call_monitor(me)
#endif
#endif
    :: goto g0                              /* the green thread ends */
    :: computes[me] = true; break           /* or never returns */
    od;
    atomic { target[me] -> target[me] = false; spins = true; goto g0 }
}

#if NOUT > 0
proctype outside() {
    byte n = NOUT, i = 0;
    bool found = false;
    do
    :: n > 0 ->
           atomic { n--; b_global[OUTSIDE]++ };
           EMPTY(OUTSIDE);
#ifndef MUTANT_OUTSIDE_BLIND
           if
           :: OWN_DORMANT(OUTSIDE) -> call_monitor(OUTSIDE)
           :: else
           fi
#endif
           skip
    :: else -> break
    od
}
#endif

#if CHANGES > 0
proctype changer() {
    byte n = CHANGES;
    do
    :: n > 0 ->
           atomic { LOCK(CHANGER); n--; change = true; UNLOCK(CHANGER) };       /* T1 */
           atomic { LOCK(CHANGER); dormant = false; UNLOCK(CHANGER) };
           atomic { EMPTY(CHANGER) -> called = true }                           /* T2 */
    :: else -> break
    od
}
#endif

proctype clock() {
    atomic { timer == 1 -> timer = 2; rang = true }
}

proctype monitor() {
    byte i = 0;
    bool found = false, busy = false, alarmed = false, soon = false;
scanning:
    if
    :: atomic { !QUEUED && timer != 2 && !seen_change }
#if CHANGES > 0
    :: atomic { seen_change && EMPTY(MONITOR) && !lock -> lock = true; change = false; UNLOCK(MONITOR) };
       goto scanning
    :: atomic { called && EMPTY(MONITOR) && !lock -> lock = true; called = false; UNLOCK(MONITOR) };   /* C1 to C3 */
       goto scanning
#endif
#if RETAKES > 0
    :: atomic { QUEUED && retakes > 0 && idle_ps == 0 && spinning == 0 && (computes[0] || computes[NP - 1]) && EMPTY(MONITOR) && !lock ->
           lock = true; retakes--; spinning++;
           if
           :: computes[0] -> target[0] = true; computes[0] = false
           :: computes[NP - 1] -> target[NP - 1] = true; computes[NP - 1] = false
           fi;
           UNLOCK(MONITOR) };
       goto scanning
#endif
    fi;

    atomic { LOCK(MONITOR);                                                     /* F1 */
#ifdef MUTANT_RESET_BEFORE_SLEEP
        called = false
#else
        skip
#endif
    };
    atomic { until_alarm = (timer != 0 && NO_IDLE(idle_ps, lacks) && spinning == 0); dormant = true; UNLOCK(MONITOR) };
#ifndef MUTANT_NO_HEAVY_FENCE
    EMPTY(MONITOR);                                                             /* F2 */
    do
    :: atomic { i < THREADS -> drain(i); i++ }
    :: atomic { i == THREADS -> i = 0; break }
    od;
#endif
    alarmed = until_alarm;
    busy = NO_IDLE(seen_idle, seen_lacks);                                      /* F3 */
    busy = busy && (seen_spinning == 0);
    if
    :: busy ->
#ifndef MUTANT_NO_LAST_LOOK
           scan();
           atomic { soon = found; found = false };
#endif
#ifndef MUTANT_DEADLINE_FORGOTTEN
           if :: timer != 0 -> alarmed = true :: else fi
#endif
           skip
    :: else
    fi;
    atomic { busy = false; asleep = !soon };
    if                                                                          /* F4 */
    :: soon
    :: called
    :: alarmed && rang
    fi;
    atomic { LOCK(MONITOR); asleep = false; called = false };                    /* C3 */
    atomic { alarmed = false; soon = false; dormant = false; UNLOCK(MONITOR) };
    goto scanning
}

active proctype end() {
    timeout;
    assert(!lock);
    assert(!asleep || (idle_ps > 0 && !lacks) || spinning > 0 || !(QUEUED || timer == 2));
    assert(!asleep || !change)
}

init {
    byte n = 0;
    atomic {
        do :: n < THREADS -> run store_buffer(n); n++ :: else -> n = 0; break od;
        do :: n < NP -> run P(n); n++ :: else -> break od;
        n = 0;
#if NOUT > 0
        run outside();
#endif
#if NTIMER > 0
        run clock();
#endif
#if CHANGES > 0
        run changer();
#endif
        run monitor()
    }
}
