/* idle.pml: the protocol of src/idle/idle.h: which Ms sleep, which search for work, and why no
 * work is left queued.
 *
 * Green threads are counts: in rings, in the global queue, in the hands of an M that moves them.
 * A running one pushes others, sets a timer, waits for it or continues, and ends or computes for
 * ever. Every choice is explored. What the code does under the idle lock with data that only the
 * holder touches is one step. Scans of queues and timers take one step for each place, in the
 * order and under the locks of the code. So does every move from one place to another.
 *
 * Store buffers (TSO). Pushes, timers, and the store that frees the lock, with the counters
 * written under it, wait in their thread's buffer and leave it in order, at any moment. Locked
 * instructions and full fences empty the thread's own buffer, the heavy fence those of all
 * threads, one after the other. A thread sees its own stores at once.
 *
 * Time. A timed sleep may end at any moment. Whether the M then backs off or not is a free choice.
 * This covers all lengths and all numbers of fruitless scans. With TIMELY a sleep ends only when
 * nothing else can move, because an interval is long.
 *
 * The poller (netpoll.h), with NEVENT. Events come at any moment and wait to be fetched; each
 * makes a green thread ready. An M that goes idle may sleep in the poller instead of on its
 * note, two at most. An interrupt wakes one of them, whichever was meant; it stays pending until
 * then. A thread that notifies an M counts it and then interrupts, in two steps. The poller
 * exists once a green thread has added the first file: at once, or with OPENS at any moment. An
 * M that polls in passing may act late on having seen that no M sleeps there.
 *
 * With ENDS a surplus M may end whenever it has slept for a while. It may have had the timeout.
 *
 * Checked: when nothing can move, no green thread is queued and no timer is due while a P is
 * idle and an M is available (safety). Work that is queued while a P is idle at the end of an
 * interval has started before the end of the next (bound, with TIMELY). The ring of an idle P is
 * empty. Only spinning Ms are counted as spinning (I1), so every notified M has woken up. No
 * event waits to be fetched while a P is idle and an M is available, and no fetched event is
 * lost. At most two Ms are in the poller.
 *
 * Left out: the age of a stolen run_next; stopping; Ms with pinned green threads; the monitor's
 * polling, which is for when no P is idle. An M that returns from the poller and finds no idle P
 * hands over what it has fetched; that takes OVERFLOW, and more Ms than Ps. With NO_THREADS,
 * creating a thread may fail.
 *
 * Each define MUTANT_… omits one thing from the protocol; its check must find that. See
 * docs/models.md.
 */
/* spin: pushes             expect=ok   pan="-E -m100000 -w24" cc="-O1 -w -DSAFETY -DCOLLAPSE" defs="-DNPUSH=3 -DOVERFLOW" */
/* spin: outside            expect=ok   pan="-E -m100000 -w24" cc="-O1 -w -DSAFETY -DCOLLAPSE" defs="-DNOUT=2 -DNPUSH=1" */
/* spin: timers             expect=ok   pan="-E -m100000 -w24" cc="-O1 -w -DSAFETY -DCOLLAPSE" defs="-DNTIMER=1 -DNPUSH=2" */
/* spin: timers_outside     expect=ok   pan="-E -m100000 -w24" cc="-O1 -w -DSAFETY -DCOLLAPSE" defs="-DNTIMER=1 -DNPUSH=1 -DNOUT=1" */
/* spin: no_threads         expect=ok   pan="-E -m100000 -w24" cc="-O1 -w -DSAFETY -DCOLLAPSE" defs="-DNO_THREADS -DNPUSH=2 -DNOUT=1" */
/* spin: three              expect=ok   pan="-E -m100000 -w24" cc="-O1 -w -DSAFETY -DCOLLAPSE" defs="-DNP=3 -DNPUSH=2" */
/* spin: buffers_pushes     expect=ok   pan="-E -m100000 -w24" cc="-O1 -w -DSAFETY -DCOLLAPSE" defs="-DTSO -DNPUSH=3 -DOVERFLOW" */
/* spin: buffers_outside    expect=ok   pan="-E -m100000 -w24" cc="-O1 -w -DSAFETY -DCOLLAPSE" defs="-DTSO -DNOUT=2 -DNPUSH=1" */
/* spin: buffers_timers     expect=ok   pan="-E -m100000 -w24" cc="-O1 -w -DSAFETY -DCOLLAPSE" defs="-DTSO -DNTIMER=1 -DNPUSH=2" */
/* spin: buffers_three      expect=ok   pan="-E -m100000 -w24" cc="-O1 -w -DSAFETY -DCOLLAPSE" defs="-DTSO -DNP=3 -DNPUSH=2" */
/* spin: bound              expect=ok   pan="-E -m100000 -w24" cc="-O1 -w -DSAFETY -DCOLLAPSE" defs="-DTIMELY -DNPUSH=3 -DOVERFLOW" */
/* spin: bound_three        expect=ok   pan="-E -m100000 -w24" cc="-O1 -w -DSAFETY -DCOLLAPSE" defs="-DTIMELY -DNP=3 -DNPUSH=3" */
/* spin: buffers_bound      expect=ok   pan="-E -m100000 -w24" cc="-O1 -w -DSAFETY -DCOLLAPSE" defs="-DTSO -DTIMELY -DNPUSH=3" */
/* spin: poller             expect=ok   pan="-E -m100000 -w24" cc="-O1 -w -DSAFETY -DCOLLAPSE" defs="-DNEVENT=2 -DNPUSH=1" */
/* spin: poller_outside     expect=ok   pan="-E -m100000 -w24" cc="-O1 -w -DSAFETY -DCOLLAPSE" defs="-DNEVENT=1 -DNOUT=1" */
/* spin: poller_timers      expect=ok   pan="-E -m100000 -w24" cc="-O1 -w -DSAFETY -DCOLLAPSE" defs="-DNEVENT=1 -DNTIMER=1" */
/* spin: poller_opens       expect=ok   pan="-E -m100000 -w24" cc="-O1 -w -DSAFETY -DCOLLAPSE" defs="-DNEVENT=1 -DNPUSH=1 -DOPENS" */
/* spin: poller_three       expect=ok   pan="-E -m100000 -w24" cc="-O1 -w -DSAFETY -DCOLLAPSE" defs="-DNP=3 -DNEVENT=1" */
/* spin: buffers_poller     expect=ok   pan="-E -m100000 -w24" cc="-O1 -w -DSAFETY -DCOLLAPSE" defs="-DTSO -DNEVENT=1 -DNPUSH=1" */
/* spin: buffers_poller_out expect=ok pan="-E -m100000 -w24" cc="-O1 -w -DSAFETY -DCOLLAPSE" defs="-DTSO -DNEVENT=1 -DNOUT=1" */
/* spin: buffers_poller_time expect=ok pan="-E -m100000 -w24" cc="-O1 -w -DSAFETY -DCOLLAPSE" defs="-DTSO -DNEVENT=1 -DNTIMER=1" */
/* spin: extra_pushes       expect=ok   pan="-E -m100000 -w24" cc="-O1 -w -DSAFETY -DCOLLAPSE" defs="-DEXTRA=1 -DNPUSH=2" */
/* spin: extra_outside      expect=ok   pan="-E -m100000 -w24" cc="-O1 -w -DSAFETY -DCOLLAPSE" defs="-DEXTRA=1 -DNOUT=1" */
/* spin: extra_timers       expect=ok   pan="-E -m100000 -w24" cc="-O1 -w -DSAFETY -DCOLLAPSE" defs="-DEXTRA=1 -DNTIMER=1" */
/* spin: extra_poller       expect=ok   pan="-E -m100000 -w24" cc="-O1 -w -DSAFETY -DCOLLAPSE" defs="-DEXTRA=1 -DNEVENT=1" */
/* spin: extra_poller_two   expect=ok pan="-E -m100000 -w24" cc="-O1 -w -DSAFETY -DCOLLAPSE" defs="-DEXTRA=1 -DNEVENT=2 -DOVERFLOW" */
/* spin: extra_buffers      expect=ok   pan="-E -m100000 -w24" cc="-O1 -w -DSAFETY -DCOLLAPSE" defs="-DEXTRA=1 -DTSO -DNPUSH=1" */
/* spin: extra_bound        expect=ok   pan="-E -m100000 -w24" cc="-O1 -w -DSAFETY -DCOLLAPSE" defs="-DEXTRA=1 -DTIMELY -DNPUSH=2" */
/* spin: ends_timers        expect=ok   pan="-E -m100000 -w24" cc="-O1 -w -DSAFETY -DCOLLAPSE" defs="-DENDS -DEXTRA=1 -DNTIMER=1" */
/* spin: ends_pushes        expect=ok   pan="-E -m100000 -w24" cc="-O1 -w -DSAFETY -DCOLLAPSE" defs="-DENDS -DEXTRA=1 -DNPUSH=1" */
/* spin: ends_poller        expect=ok pan="-E -m100000 -w26" cc="-O1 -w -DSAFETY -DCOLLAPSE" defs="-DENDS -DEXTRA=1 -DNEVENT=1 -DOVERFLOW" */
/* spin: mutant_not_wanted         expect=fail pan="-E -m100000" cc="-O2 -w -DSAFETY" defs="-DNPUSH=2 -DMUTANT_NOT_WANTED" */
/* spin: mutant_no_recheck         expect=fail pan="-E -m100000" cc="-O2 -w -DSAFETY" defs="-DNOUT=2 -DNPUSH=1 -DMUTANT_NO_RECHECK" */
/* spin: mutant_no_last_look       expect=fail pan="-E -m100000" cc="-O2 -w -DSAFETY" defs="-DNPUSH=2 -DMUTANT_NO_LAST_LOOK" */
/* spin: mutant_not_timed          expect=fail pan="-E -m100000" cc="-O2 -w -DSAFETY" defs="-DNPUSH=2 -DMUTANT_NOT_TIMED" */
/* spin: mutant_nap_without_look   expect=fail pan="-E -m100000" cc="-O2 -w -DSAFETY" defs="-DTIMELY -DNPUSH=3 -DOVERFLOW -DMUTANT_NAP_WITHOUT_LOOK" */
/* spin: mutant_no_chain           expect=fail pan="-E -m100000" cc="-O2 -w -DSAFETY" defs="-DNPUSH=3 -DOVERFLOW -DMUTANT_NO_CHAIN" */
/* spin: mutant_no_heavy_fence     expect=fail pan="-E -m100000" cc="-O2 -w -DSAFETY" defs="-DTSO -DNPUSH=2 -DMUTANT_NO_HEAVY_FENCE" */
/* spin: mutant_no_outside_fence   expect=fail pan="-E -m100000" cc="-O2 -w -DSAFETY" defs="-DTSO -DNOUT=1 -DNPUSH=1 -DMUTANT_NO_OUTSIDE_FENCE" */
/* spin: mutant_silent_batch       expect=fail pan="-E -m100000" cc="-O2 -w -DSAFETY" defs="-DNOUT=2 -DMUTANT_SILENT_BATCH" */
/* spin: mutant_timer_forgotten    expect=fail pan="-E -m100000" cc="-O2 -w -DSAFETY" defs="-DNTIMER=1 -DNPUSH=1 -DMUTANT_TIMER_FORGOTTEN" */
/* spin: mutant_timers_first       expect=fail pan="-E -m100000" cc="-O2 -w -DSAFETY" defs="-DNTIMER=1 -DNPUSH=2 -DMUTANT_TIMERS_FIRST" */
/* spin: mutant_creation_forgotten expect=fail pan="-E -m100000" cc="-O2 -w -DSAFETY" defs="-DNO_THREADS -DNPUSH=2 -DMUTANT_CREATION_FORGOTTEN" */
/* spin: mutant_not_passed_on      expect=fail pan="-E -m100000" cc="-O2 -w -DSAFETY" defs="-DNEVENT=1 -DNOUT=1 -DMUTANT_NOT_PASSED_ON" */
/* spin: mutant_counted_late       expect=fail pan="-E -m100000" cc="-O2 -w -DSAFETY" defs="-DNEVENT=1 -DNOUT=1 -DMUTANT_COUNTED_LATE" */
/* spin: mutant_not_alone          expect=fail pan="-E -m100000" cc="-O2 -w -DSAFETY" defs="-DNP=3 -DTSO -DNPUSH=2 -DMUTANT_NOT_ALONE" */
/* spin: mutant_not_watched        expect=fail pan="-E -m100000" cc="-O2 -w -DSAFETY" defs="-DNEVENT=2 -DNPUSH=1 -DMUTANT_NOT_WATCHED" */
/* spin: mutant_no_alarm           expect=fail pan="-E -m100000" cc="-O2 -w -DSAFETY" defs="-DNEVENT=1 -DNTIMER=1 -DMUTANT_NO_ALARM" */
/* spin: mutant_no_chain_fence     expect=fail pan="-E -m100000" cc="-O2 -w -DSAFETY" defs="-DTSO -DNOUT=2 -DNPUSH=1 -DMUTANT_NO_CHAIN_FENCE" */
/* spin: mutant_no_chain_look      expect=fail pan="-E -m100000" cc="-O2 -w -DSAFETY" defs="-DNOUT=2 -DNPUSH=1 -DMUTANT_NO_CHAIN_LOOK" */
/* spin: mutant_no_interrupt       expect=fail pan="-E -m100000" cc="-O2 -w -DSAFETY" defs="-DNEVENT=1 -DNPUSH=1 -DMUTANT_NO_INTERRUPT" */
/* spin: mutant_interrupt_taken    expect=fail pan="-E -m100000" cc="-O2 -w -DSAFETY" defs="-DNP=3 -DNEVENT=1 -DNPUSH=2 -DMUTANT_INTERRUPT_TAKEN" */
/* spin: mutant_goes_blindly       expect=fail pan="-E -m100000" cc="-O2 -w -DSAFETY" defs="-DNEVENT=1 -DNPUSH=1 -DMUTANT_GOES_BLINDLY" */
/* spin: mutant_nobody_polls       expect=fail pan="-E -m100000" cc="-O2 -w -DSAFETY" defs="-DNEVENT=1 -DMUTANT_NOBODY_POLLS" */
/* spin: mutant_opened_in_silence  expect=fail pan="-E -m100000" cc="-O2 -w -DSAFETY" defs="-DNEVENT=1 -DOPENS -DMUTANT_OPENED_IN_SILENCE" */
/* spin: mutant_poller_no_recheck  expect=fail pan="-E -m100000" cc="-O2 -w -DSAFETY" defs="-DNEVENT=1 -DNOUT=1 -DMUTANT_NO_RECHECK" */
/* spin: mutant_ends_in_silence    expect=fail pan="-E -m100000" cc="-O2 -w -DSAFETY -DCOLLAPSE" defs="-DENDS -DEXTRA=1 -DNTIMER=1 -DMUTANT_ENDS_IN_SILENCE" */
/* spin: mutant_fetched_forgotten  expect=fail pan="-E -m100000" cc="-O2 -w -DSAFETY" defs="-DNEVENT=1 -DNPUSH=1 -DMUTANT_FETCHED_FORGOTTEN" */

#ifndef NP
#define NP 2            /* Ps */
#endif
#ifndef EXTRA
#define EXTRA 0         /* Ms beyond the number of Ps, as blocking calls leave behind; all Ms then exist from the beginning, asleep */
#endif
#define NM (NP + EXTRA) /* Ms */
#ifndef NPUSH
#define NPUSH 0         /* pushes by green threads, together */
#endif
#ifndef NOUT
#define NOUT 0          /* pushes by external threads */
#endif
#ifndef NTIMER
#define NTIMER 0        /* timers set by green threads on P 0: 0 or 1 */
#endif
#ifndef NEVENT
#define NEVENT 0        /* events of files */
#endif
#define NONE    15
#define LOOK    13      /* in place of a P: notified to scan, without one */
#define OUTSIDE NM      /* the number of the external thread's store buffer */
#define FAILED  14
/* ---- Work. */
byte ring[NP];                      /* as all threads see it */
byte global_queue = 0;
byte timer = 0;                     /* on P 0: 0 none, 1 set, 2 due */
bool rang = false;                  /* its deadline has passed */
byte pushes = NPUSH, timers = NTIMER;

/* ---- The poller. */
#if NEVENT > 0
byte to_come = NEVENT;
byte events = 0;                    /* that have come and were not fetched */
byte readied = 0;                   /* green threads of the fetched events */
bool interrupted = false;           /* interrupt() was called */
bool in_use = false;                /* a file was added: by the first green thread, or with OPENS by any */
byte in_poller = 0;                 /* the number of Ms that sleep there */
#else
#define events 0
#endif

#define QUEUED (global_queue > 0 || ring[0] > 0 || ring[1] > 0 || ring[NP - 1] > 0 || timer == 2 || events > 0)

/* ---- idle_state, guarded by lock. */
bool lock = false;
bool idle_p[NP];
byte idle_ps = 0, spinning = 0;
bool wanted = false;
bool idle_m[NM];
byte sentinel = NONE;
bool sentinel_near = false, sentinel_alarm = false;
#if NEVENT > 0
byte polling[2];                    /* each set under the lock, cleared by that M itself */
bool has_alarm[NM];                 /* while it sleeps there */
short pending_interrupts = 0;              /* Ms that were notified in the poller and have not returned; updated a moment late */
#endif

/* ---- Ms. */
bool unborn[NM];                    /* no thread yet */
byte p_of[NM];
byte note[NM];                      /* NONE, or the P that comes with the notification */
bool timed[NM];                     /* asleep for an interval */
#if NEVENT > 0
bool elsewhere[NM];                 /* state of the note: the M is in the poller, or on its way there or back */
byte fetched[NM];                   /* green threads with which it returned */
#endif
#ifdef ENDS
byte too_many = EXTRA;              /* Ms that may end */
#endif
byte late = 0;                      /* intervals in a row that ended with work queued and a P idle */

/* ---- Store buffers. */
#ifdef TSO
byte seen_idle = 0, seen_spinning = 0;      /* what is read without the lock */
bool seen_wanted = false;
bool b_unlock[NM + 1];
byte b_ring[NM + 1], b_global[NM + 1];
bool b_timer[NM + 1];

#define EMPTY(t)         (!b_unlock[t] && b_ring[t] == 0 && b_global[t] == 0 && !b_timer[t])
#define UNLOCK(t)        b_unlock[t] = true
#define STORE_RING(t, n) b_ring[t] = b_ring[t] + n
#define STORE_GLOBAL(t)  b_global[t]++
#define STORE_TIMER(t)   b_timer[t] = true
#define OWN_WANTED(t)    (b_unlock[t] -> wanted : seen_wanted)
#define OWN_RING(t)      (ring[p_of[t]] + b_ring[t])

inline free_lock(t) {
    seen_idle = idle_ps; seen_spinning = spinning; seen_wanted = wanted;
    lock = false; b_unlock[t] = false
}

inline drain(t) {
    if :: b_unlock[t] -> free_lock(t) :: else fi;
    if :: b_ring[t] > 0 -> ring[p_of[t]] = ring[p_of[t]] + b_ring[t]; b_ring[t] = 0 :: else fi;
    if :: b_timer[t] -> timer = 1; b_timer[t] = false :: else fi;
    global_queue = global_queue + b_global[t]; b_global[t] = 0
}

proctype store_buffer(byte t) {
end:
    do
    :: atomic { b_unlock[t] -> free_lock(t) }
    :: atomic { !b_unlock[t] && b_ring[t] > 0 -> ring[p_of[t]]++; b_ring[t]-- }
    :: atomic { !b_unlock[t] && b_timer[t] -> timer = 1; b_timer[t] = false }
    :: atomic { !b_unlock[t] && b_global[t] > 0 -> global_queue++; b_global[t]-- }
    od
}
#else
#define seen_idle        idle_ps
#define seen_spinning    spinning
#define EMPTY(t)         true
#define UNLOCK(t)        lock = false
#define STORE_RING(t, n) ring[p_of[t]] = ring[p_of[t]] + n
#define STORE_GLOBAL(t)  global_queue++
#define STORE_TIMER(t)   timer = 1
#define OWN_WANTED(t)    wanted
#define OWN_RING(t)      ring[p_of[t]]
#define drain(t)         skip
#endif

/* ---- Pieces of idle.cc. Those whose names end in _locked are parts of an atomic step. */
#define LOCK(t) (EMPTY(t) && !lock) -> lock = true

#ifdef MUTANT_NOT_WANTED
#define PUBLISH_WANTED wanted = false
#else
#define PUBLISH_WANTED wanted = (idle_ps > 0 && spinning == 0 && !(sentinel != NONE && sentinel_near))
#endif

inline take_idle_p_locked(p) {
    p = 0;
    do :: !idle_p[p] -> p++ :: else -> break od;
    idle_p[p] = false; idle_ps--
}

inline forget_sentinel_locked() { sentinel = NONE; sentinel_near = false; sentinel_alarm = false }

/* m: any idle M; the sentinel only if no other is idle; NONE if there is none. */
#if NEVENT > 0
#define SOMEBODY_POLLS (polling[0] != NONE || polling[1] != NONE)
#define WAITS(i)       (polling[i] != NONE && idle_m[polling[i]])
#define ONE_WAITS      (WAITS(0) || WAITS(1))
#define ONE_IS_FREE    (polling[0] == NONE || polling[1] == NONE)
#endif

inline take_idle_m_locked(m) {
    if
    :: idle_m[0] && sentinel != 0 -> m = 0
    :: idle_m[1] && sentinel != 1 -> m = 1
#if NM > 2
    :: idle_m[2] && sentinel != 2 -> m = 2
#endif
#if NM > 3
    :: idle_m[3] && sentinel != 3 -> m = 3
#endif
    :: else -> m = sentinel
    fi;
    if :: m == sentinel -> forget_sentinel_locked() :: else fi;
    if :: m != NONE -> idle_m[m] = false :: else fi
}

/* m: a new thread. NONE if there are as many Ms as Ps: then one without a P is awake, on its way
 * to sleep, and will scan. FAILED if no thread is available. */
inline create_m(m) {
    m = 0;
    do :: m < NM && !unborn[m] -> m++ :: else -> break od;
    if
    :: m == NM -> m = NONE
    :: m < NM -> unborn[m] = false
#ifdef NO_THREADS
    :: m < NM -> m = FAILED
#endif
    fi
}

inline wake_one(t, from_outside) {
    atomic { LOCK(t);
        if
        :: idle_ps > 0 && ((from_outside && spinning == 0) || (!from_outside && wanted)) ->
               take_idle_m_locked(m);
               if :: m == NONE -> create_m(m) :: else fi;
               if :: m != NONE -> take_idle_p_locked(p); spinning++; PUBLISH_WANTED :: else fi
        :: else
        fi;
        UNLOCK(t)
    };
    if
    :: m == FAILED ->
           atomic { LOCK(t);
               idle_p[p] = true; idle_ps++; p = NONE; m = NONE;
#ifndef MUTANT_CREATION_FORGOTTEN
               spinning--;
#endif
               PUBLISH_WANTED;
               UNLOCK(t)
           }
    :: else
    fi;
    if
    :: m != NONE -> wake_m(t)
    :: else
    fi
}

/* Notifies m, wherever it sleeps, that p is its P. */
inline wake_m(t) {
#if NEVENT > 0
    atomic { EMPTY(t) ->
        note[m] = p; p = NONE;
        if :: elsewhere[m] -> elsewhere[m] = false :: else -> m = NONE fi
    };
#ifdef MUTANT_NO_INTERRUPT
    m = NONE
#else
    if
    :: m != NONE ->
#ifdef MUTANT_COUNTED_LATE
           interrupted = true;
           pending_interrupts++;
#else
           pending_interrupts++;
           interrupted = true;
#endif
           m = NONE
    :: else
    fi
#endif
#else
    atomic { EMPTY(t) -> note[m] = p; m = NONE; p = NONE }
#endif
}

/* Polls in passing. Sets hand. */
inline fetch() {
    hand = events; events = 0
#ifdef MUTANT_INTERRUPT_TAKEN
    ; interrupted = false
#endif
}

inline after_push(t) {
    if
    :: OWN_WANTED(t) -> wake_one(t, false)
    :: else
    fi
}

/* anything_to_do. Sets found. */
inline look() {
    found = false;
#if NOUT > 0 || defined(OVERFLOW)
    found = (global_queue > 0);
#endif
    do
    :: atomic { i < NP && !found -> found = (ring[i] > 0 || (i == 0 && timer == 2)); i++ }
    :: else -> i = 0; break
    od
}

#if NEVENT > 0
#define FIRST            (polling[0] == me -> polling[1] : polling[0])
#endif

/* The facts of plan_park.h. far stands for backs_off. */
#define NEAR_EXISTS (sentinel != NONE && sentinel_near)
#if NEVENT > 0 && !defined(MUTANT_NOBODY_POLLS)
#define POLLER_EMPTY (in_use && !SOMEBODY_POLLS)
#define MAY_JOIN     (ONE_WAITS && ONE_IS_FREE)
#else
#define POLLER_EMPTY false
#define MAY_JOIN     false
#endif

/* Whether an M that stops searching, and runs, may do so without waking another. */
#ifdef MUTANT_NOT_ALONE
#define IS_ALONE true
#else
#define IS_ALONE (idle_ps + 1 == NP)
#endif
#if NEVENT == 0 || defined(MUTANT_NOT_WATCHED)
#define IS_WATCHED true
#else
#define IS_WATCHED (!in_use || ONE_WAITS)
#endif
#ifdef MUTANT_NO_ALARM
#define KNOWS_TIMERS true
#else
#define KNOWS_TIMERS (sentinel != NONE && sentinel_alarm)
#endif
#ifdef MUTANT_NO_CHAIN_FENCE
#define NO_CHAIN_FENCE(t) skip
#else
#define NO_CHAIN_FENCE(t) EMPTY(t)
#endif
#ifdef MUTANT_NO_CHAIN_LOOK
#define NO_CHAIN_LOOK found = false
#else
#define NO_CHAIN_LOOK look()
#endif

/* ---- An M: find_runnable, what it runs, and sleep_until_work. */
proctype M(byte me) {
    bool spins = false, found = false, alone = false, far = false, alarmed = false, others_push = false;
    byte hand = 0, i = 0, p = NONE, m = NONE;
#if NEVENT > 0
    bool polls = false, joins = false;
#endif
#ifdef ENDS
    bool ends = false;          /* it has slept long enough to end since it had a P */
#endif

    if
    :: me == 0 -> goto computing
    :: else -> goto asleep
    fi;

loop:
#if NTIMER > 0
    if
    :: atomic { p_of[me] == 0 && timer == 2 -> drain(me); timer = 0 };
       STORE_RING(me, 1);
       after_push(me)
    :: else
    fi;
#endif
    if
    :: atomic { OWN_RING(me) > 0 -> drain(me); ring[p_of[me]]--; goto found_some }
    :: else
    fi;
#if NOUT > 0 || defined(OVERFLOW)
    if
    :: atomic { global_queue > 0 ->
           drain(me);
           hand = (global_queue < global_queue / NP + 1 -> global_queue : global_queue / NP + 1);
           global_queue = global_queue - hand; hand-- };
       if
       :: hand > 0 ->
              atomic { STORE_RING(me, hand); hand = 0 };
#ifndef MUTANT_SILENT_BATCH
              after_push(me)
#endif
       :: else
       fi;
       goto found_some
    :: else
    fi;
#endif
#if NEVENT > 0
    if
    :: in_use && !SOMEBODY_POLLS ->     /* N2 */
           atomic { drain(me); fetch() };
           if
           :: hand > 0 ->
                  atomic { STORE_RING(me, hand); readied = readied + hand; hand = 0 };
                  after_push(me);
                  goto loop
           :: else
           fi
    :: else
    fi;
#endif
    if
    :: !spins ->
           atomic { LOCK(me);
               if :: 2 * spinning < NP - idle_ps -> spins = true; spinning++; PUBLISH_WANTED :: else fi;
               UNLOCK(me)
           }
    :: else
    fi;
    if
    :: spins ->     /* steal */
           do
           :: atomic { i < NP && i != p_of[me] && ring[i] > 0 ->
                  drain(me);
                  hand = (ring[i] + 1) / 2;
                  ring[i] = ring[i] - hand; hand--; i = 0 };
              if
              :: hand > 0 -> atomic { STORE_RING(me, hand); hand = 0 }
              :: else
              fi;
              goto found_some
#if NTIMER > 0
           :: atomic { i == 0 && i != p_of[me] && ring[i] == 0 && timer == 2 -> drain(me); timer = 0 };
              STORE_RING(me, 1);
              after_push(me);
              goto loop
#endif
           :: i < NP && (i == p_of[me] || (ring[i] == 0 && !(i == 0 && timer == 2))) -> i++
           :: i == NP -> i = 0; break
           od
    :: else
    fi;

    /* Step 1. */
    atomic { LOCK(me);
        assert(ring[p_of[me]] == 0);
        idle_p[p_of[me]] = true; idle_ps++; p_of[me] = NONE;
        if :: spins -> spinning--; spins = false :: else fi;
        PUBLISH_WANTED;
        UNLOCK(me)
    };
    /* Step 2. */
    EMPTY(me);
    atomic { LOCK(me) };
#ifdef MUTANT_NO_RECHECK
    goto park_m;
#endif

again:  /* Step 3; the lock is held. */
    if
    :: idle_ps > 0 ->
           look()
#if NEVENT > 0
           ; found = found || fetched[me] > 0
#endif
    :: else
    fi;
    if
    :: atomic { found -> found = false;
           take_idle_p_locked(p); spinning++; PUBLISH_WANTED; UNLOCK(me);
           goto got_p }
    :: else
    fi;

#if NEVENT > 0 && defined(OVERFLOW)
    if
    :: fetched[me] > 0 ->   /* all Ps are taken: to the injected queue */
           atomic { UNLOCK(me); global_queue = global_queue + fetched[me]; readied = readied + fetched[me]; fetched[me] = 0 };
           wake_one(me, true);
           atomic { LOCK(me) };
           goto again
    :: else
    fi;
#endif

#ifdef ENDS
    if
    :: ends && too_many > 0 ->      /* end_idle_m; this M is on no list */
           atomic {
               too_many--;
#ifndef MUTANT_ENDS_IN_SILENCE
               found = sentinel == NONE || (timer != 0 && !sentinel_alarm && !sentinel_near);
#if NEVENT > 0
               found = found || (in_use && !SOMEBODY_POLLS);
#endif
               found = found && idle_ps > 0;
#endif
               if :: found -> take_idle_m_locked(m) :: else fi;
               found = false;
               PUBLISH_WANTED;
               UNLOCK(me)
           };
           if :: m != NONE -> p = LOOK; wake_m(me) :: else fi;
           goto over
    :: else
    fi;
#endif

park_m:   /* Step 4: the rows of plan_park.h. found tells whether this M becomes the sentinel. */
    alarmed = (timer != 0);
    atomic {
        idle_m[me] = true;
        others_push = false;
        if
        :: idle_ps == 0 ->                                          /* row 1 */
               alarmed = false
        :: idle_ps > 0 && idle_ps < NP && !far ->                   /* rows 2, 3 */
               if
               :: true -> found = true
               :: NEAR_EXISTS                                       /* its alarm is later than the sentinel's */
               fi;
               if :: found -> sentinel_near = true; timed[me] = true :: else -> alarmed = false fi
        :: idle_ps > 0 && idle_ps < NP && far && NEAR_EXISTS ->     /* row 4 */
               others_push = true;
               if
               :: alarmed -> found = true
               :: true
               fi;
               if :: found -> sentinel_near = false :: else -> alarmed = false fi
        :: else ->                                                  /* rows 5 to 7 */
               others_push = (idle_ps < NP);
#if NEVENT > 0
               polls = POLLER_EMPTY;
               joins = !polls && idle_ps == NP && MAY_JOIN;
               if
               :: polls || joins -> if :: polling[0] == NONE -> polling[0] = me :: else -> polling[1] = me fi
               :: else
               fi;
               if
               :: joins && sentinel == NONE && (!alarmed || has_alarm[FIRST]) ->
                      sentinel = FIRST;
                      sentinel_near = false;
                      sentinel_alarm = has_alarm[FIRST]
               :: else ->
#endif
               if
               :: sentinel == NONE || (alarmed && !sentinel_near && !sentinel_alarm) -> found = true
               :: alarmed && NEAR_EXISTS -> found = true    /* its timer is earlier than the next scan, … */
               :: sentinel != NONE && (!alarmed || sentinel_near || sentinel_alarm)     /* … or not */
               fi
#if NEVENT > 0
               fi;
               found = found || (polls && !NEAR_EXISTS)
#endif
               ;
               if
               :: found -> sentinel_near = false
#if NEVENT > 0
               :: !found && polls
#endif
               :: else -> alarmed = false
               fi
        fi;
        if :: found -> sentinel = me; sentinel_alarm = alarmed; found = false :: else fi;
#if NEVENT > 0
        has_alarm[me] = alarmed;
        polls = polls || joins;
        joins = false;
#endif
#ifdef MUTANT_NOT_TIMED
        timed[me] = false;
#endif
        PUBLISH_WANTED;
        UNLOCK(me)
    };
    if
    :: others_push ->   /* Step 5. */
#ifdef TSO
#ifndef MUTANT_NO_HEAVY_FENCE
           EMPTY(me);
           do
           :: atomic { i <= NM -> drain(i); i++ }
           :: else -> i = 0; break
           od;
#endif
#endif
#ifdef MUTANT_TIMERS_FIRST
           if :: timer != 0 -> alarmed = true :: else fi;
#endif
#ifndef MUTANT_NO_LAST_LOOK
           look();
           atomic { if :: found -> timed[me] = true; found = false :: else fi };
#endif
#if !defined(MUTANT_TIMER_FORGOTTEN) && !defined(MUTANT_TIMERS_FIRST)
           if :: timer != 0 -> alarmed = true :: else fi
#endif
           skip
    :: else
    fi;
    others_push = false;

#if NEVENT > 0
    if
    :: polls ->
           polls = false;
           atomic {     /* go_elsewhere */
#ifdef MUTANT_GOES_BLINDLY
               elsewhere[me] = true
#else
               if :: note[me] == NONE -> elsewhere[me] = true :: else -> goto back fi
#endif
           };
           atomic {
               in_poller++;
               assert(in_poller <= 2)
           };
           if
           :: atomic { events > 0 || interrupted ->
                  fetched[me] = events; events = 0; interrupted = false; in_poller-- }
           :: atomic { timed[me] -> in_poller-- }
#ifdef ENDS
           :: atomic { too_many > 0 -> ends = true; in_poller-- }
#endif
           :: atomic { alarmed && rang -> in_poller-- }
           fi;
           atomic { if :: elsewhere[me] -> elsewhere[me] = false :: else -> joins = true fi };   /* joins: was notified there */
back:      atomic { if :: polling[0] == me -> polling[0] = NONE :: else -> polling[1] = NONE fi };
           atomic { if :: joins -> pending_interrupts--; joins = false :: else fi; found = pending_interrupts > 0 };
           atomic {
#ifndef MUTANT_NOT_PASSED_ON
               if :: found -> interrupted = true :: else fi;
#endif
               found = false
           };
           atomic {
               if :: note[me] == NONE -> goto time_is_up :: else fi
#ifdef MUTANT_FETCHED_FORGOTTEN
               ; fetched[me] = 0
#endif
           }
    :: else
    fi;
#endif

asleep:
    if
    :: atomic { note[me] != NONE -> p = note[me]; note[me] = NONE; goto got_p }
#ifdef TIMELY
    :: atomic { timed[me] && note[me] == NONE && timeout ->
           if :: QUEUED && idle_ps > 0 -> late++ :: else -> late = 0 fi;
           assert(late <= 1) }
#else
    :: timed[me] && note[me] == NONE
#endif
    :: alarmed && rang && note[me] == NONE
#ifdef ENDS
    :: atomic { too_many > 0 && idle_m[me] && note[me] == NONE -> ends = true }
#endif
    fi;
time_is_up:
    atomic { LOCK(me); timed[me] = false; alarmed = false };
    if
    :: atomic { !idle_m[me] -> UNLOCK(me) };
       atomic { note[me] != NONE -> p = note[me]; note[me] = NONE; goto got_p }
    :: else
    fi;
    atomic {
        idle_m[me] = false;
        if :: sentinel == me -> forget_sentinel_locked() :: else fi;
        if :: far = true :: far = false fi
    };
#if NEVENT > 0
    if
    :: in_use && !SOMEBODY_POLLS && fetched[me] == 0 ->     /* N3, unless another M has just polled */
           UNLOCK(me);
           atomic { EMPTY(me) -> fetch(); fetched[me] = hand; hand = 0 };
           atomic { LOCK(me) }
    :: true
    fi;
#endif
#ifdef MUTANT_NAP_WITHOUT_LOOK
    goto park_m;
#endif
    goto again;

got_p:
#ifdef ENDS
    if
    :: atomic { p == LOOK -> p = NONE; timed[me] = false; alarmed = false };
       atomic { LOCK(me) };
       goto again
    :: else
    fi;
    ends = false;
#endif
    atomic {
        timed[me] = false; alarmed = false; far = false;
        drain(me);          /* acquire_p */
        p_of[me] = p; p = NONE; spins = true
    };
#if NEVENT > 0
    if
    :: fetched[me] > 0 ->
           atomic { STORE_RING(me, fetched[me]); readied = readied + fetched[me]; fetched[me] = 0 };
           after_push(me)
    :: else
    fi;
#endif
    goto loop;

found_some:
    late = 0;
    if
    :: spins ->
           atomic { LOCK(me);
               spins = false; spinning--; PUBLISH_WANTED;
               found = wanted;
               alone = found && IS_ALONE && IS_WATCHED;
               alarmed = KNOWS_TIMERS;
               UNLOCK(me)
           };
           if
           :: alone ->     /* No other M pushes, and another M is in the poller. */
                  alone = false;
                  NO_CHAIN_FENCE(me);
                  NO_CHAIN_LOOK;
                  if :: timer != 0 && !alarmed -> found = true :: else fi
           :: else
           fi;
           alarmed = false;
           if
           :: found ->
                  found = false;
#ifndef MUTANT_NO_CHAIN
                  wake_one(me, false)
#endif
           :: else
           fi
    :: else
    fi;

computing:
#if NEVENT > 0 && !defined(OPENS)
    if
    :: atomic { !in_use -> in_use = true };
       wake_one(me, true)
    :: else
    fi;
#endif
    do
    :: atomic { pushes > 0 -> pushes--; STORE_RING(me, 1) };
       after_push(me)
#ifdef OVERFLOW
    :: atomic { pushes > 0 -> pushes--; drain(me); STORE_GLOBAL(me) };
       after_push(me)
#endif
#if NTIMER > 0
    :: atomic { timers > 0 && p_of[me] == 0 -> timers--; drain(me); STORE_TIMER(me) };
       after_push(me)
    :: atomic { timers > 0 && p_of[me] == 0 -> timers--; drain(me); STORE_TIMER(me) };     /* and waits until then … */
       if
       :: goto loop
       :: atomic { OWN_RING(me) > 0 -> drain(me); ring[p_of[me]]-- }                        /* … while the next one runs */
       fi
#endif
#if NEVENT > 0 && defined(OPENS)
    :: atomic { !in_use -> drain(me); in_use = true };
#ifndef MUTANT_OPENED_IN_SILENCE
       wake_one(me, true)
#endif
#endif
    :: goto loop            /* the green thread ends */
    :: break                /* or never returns */
    od;
    false;
over:
    skip
}

proctype outside() {
    byte n = NOUT, p = NONE, m = NONE;
    do
    :: n > 0 ->
           atomic { n--; STORE_GLOBAL(OUTSIDE) };
#ifndef MUTANT_NO_OUTSIDE_FENCE
           EMPTY(OUTSIDE);
#endif
           if
           :: seen_idle == 0
           :: else ->
                  if
                  :: seen_spinning == 0 -> wake_one(OUTSIDE, true)
                  :: else
                  fi
           fi
    :: else -> break
    od
}

#if NEVENT > 0
proctype files() {
    do
    :: atomic { to_come > 0 && in_use -> to_come--; events++ }
    od
}
#endif

proctype clock() {
    atomic { timer == 1 -> timer = 2; rang = true }
}

#ifdef NO_THREADS
#define TO_BE_HAD(m)   idle_m[m]
#else
#define TO_BE_HAD(m)   (idle_m[m] || unborn[m])
#endif
#define SOMEBODY_TIMED (timed[0] || timed[1] || timed[NM - 2] || timed[NM - 1])

active proctype monitor() {
    timeout && !SOMEBODY_TIMED;
    assert(spinning == 0 && !lock);
#if NEVENT > 0
    assert(to_come + events + readied == NEVENT);
#endif
    assert(idle_ps == 0 || !QUEUED || !(TO_BE_HAD(0) || TO_BE_HAD(1) || TO_BE_HAD(NM - 2) || TO_BE_HAD(NM - 1)))
}

init {
    byte n = 0;
    atomic {
        do :: n < NM -> p_of[n] = NONE; note[n] = NONE; unborn[n] = (n != 0 && EXTRA == 0); idle_m[n] = (n != 0 && EXTRA > 0); n++ :: else -> n = 0; break od;
#if NEVENT > 0
        polling[0] = NONE; polling[1] = NONE;
#endif
        do :: n < NP -> idle_p[n] = (n != 0); n++ :: else -> n = 0; break od;
        p_of[0] = 0; idle_ps = NP - 1; PUBLISH_WANTED;
#ifdef TSO
        seen_idle = idle_ps; seen_wanted = wanted;
        do :: n <= NM -> run store_buffer(n); n++ :: else -> n = 0; break od;
#endif
        do :: n < NM -> run M(n); n++ :: else -> n = 0; break od;
#if NOUT > 0
        run outside();
#endif
#if NEVENT > 0
        run files();
#endif
#if NTIMER > 0
        run clock()
#endif
    }
}
