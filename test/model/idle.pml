/* idle.pml: the protocol of src/sched/idle.h: who sleeps, who looks for work, and why none is left lying.
 */
#ifndef NP
#define NP 2
#endif
#ifndef NM
#define NM 3
#endif
#ifndef NPUSH
#define NPUSH 2
#endif
#ifndef NOUT
#define NOUT 0
#endif
#ifndef NTIMER
#define NTIMER 0
#endif
#define NONE 15
#define OUTSIDE NM                  /* the thread outside: only its store buffer has a number */

/* ---- Work. */
byte q[NP];                         /* green threads in each ring, as everybody sees them */
byte g = 0;                         /* in the global queue */
byte timer[NP];                     /* 0 none, 1 set, 2 due */
bool rang = false;                  /* the deadline has passed */
byte pushes = NPUSH, timers = NTIMER;

/* ---- idle_state, guarded by lock. */
bool lock = false;
bool idle_p[NP];
byte idle_ps = 0, spinning = 0;
bool wanted = false;
bool idle_m[NM];
byte lookout = NONE;
bool lookout_near = false, lookout_alarm = false;

/* ---- Ms. */
bool unborn[NM];                    /* no thread yet */
byte p_of[NM];
byte next_p[NM];
bool told[NM];                      /* the note */
bool timed[NM];                     /* asleep for an interval */
byte late = 0;                      /* intervals in a row that ended with work queued and a P idle */

/* ---- Store buffers, and what they keep from those who do not hold the lock. */
#ifdef TSO
byte seen_idle = 0, seen_spinning = 0;
bool seen_wanted = false;
bool b_unlock[NM + 1];
byte b_ring[NM + 1], b_global[NM + 1], b_timer[NM + 1];

#define EMPTY(t)        (!b_unlock[t] && b_ring[t] == 0 && b_global[t] == 0 && b_timer[t] == 0)
#define UNLOCK(t)       b_unlock[t] = true
#define STORE_RING(t,n) b_ring[t] = b_ring[t] + n
#define STORE_GLOBAL(t) b_global[t]++
#define STORE_TIMER(t)  b_timer[t] = 1
#define OWN_WANTED(t)   (b_unlock[t] -> wanted : seen_wanted)
#define OWN_RING(t)     (q[p_of[t]] + b_ring[t])

inline drain_unlock(t) {
    seen_idle = idle_ps; seen_spinning = spinning; seen_wanted = wanted; lock = false; b_unlock[t] = false
}

inline drain(t) {
    if :: b_unlock[t] -> drain_unlock(t) :: else fi;
    if :: b_ring[t] > 0 -> q[p_of[t]] = q[p_of[t]] + b_ring[t]; b_ring[t] = 0 :: else fi;
    if :: b_timer[t] > 0 -> timer[p_of[t]] = 1; b_timer[t] = 0 :: else fi;
    g = g + b_global[t]; b_global[t] = 0
}

proctype buffer(byte t) {
end:
    do
    :: atomic { b_unlock[t] -> drain_unlock(t) }
    :: atomic { !b_unlock[t] && b_ring[t] > 0 -> q[p_of[t]]++; b_ring[t]-- }
    :: atomic { !b_unlock[t] && b_timer[t] > 0 -> timer[p_of[t]] = 1; b_timer[t] = 0 }
    :: atomic { !b_unlock[t] && b_global[t] > 0 -> g++; b_global[t]-- }
    od
}
#else
#define seen_idle       idle_ps
#define seen_spinning   spinning
#define EMPTY(t)        true
#define UNLOCK(t)       lock = false
#define STORE_RING(t,n) q[p_of[t]] = q[p_of[t]] + n
#define STORE_GLOBAL(t) g++
#define STORE_TIMER(t)  timer[p_of[t]] = 1
#define OWN_WANTED(t)   wanted
#define OWN_RING(t)     q[p_of[t]]
#define drain(t)        skip
#endif

#define LOCK(t)      (EMPTY(t) && !lock) -> lock = true
#define NEAR_LOOKOUT (lookout != NONE && lookout_near)
#define PUBLISH      wanted = (idle_ps > 0 && spinning == 0 && !NEAR_LOOKOUT)
#define TIMER_SET    (timer[0] != 0)        /* timers are set on P 0 only */

inline take_idle_p(into) {
    into = 0;
    do :: !idle_p[into] -> into++ :: else -> break od;
    idle_p[into] = false; idle_ps--
}

inline forget_lookout() { lookout = NONE; lookout_near = false; lookout_alarm = false }

/* w: any idle M, but rather not the lookout; NONE if there is none. */
inline pick_idle_m() {
    if
    :: idle_m[0] && lookout != 0 -> w = 0
    :: idle_m[1] && lookout != 1 -> w = 1
#if NM > 2
    :: idle_m[2] && lookout != 2 -> w = 2
#endif
#if NM > 3
    :: idle_m[3] && lookout != 3 -> w = 3
#endif
    :: else -> w = lookout; forget_lookout()
    fi
}

inline wake_one(t, from_outside) {
    atomic { LOCK(t);
        if
        :: idle_ps > 0 && ((from_outside && spinning == 0) || (!from_outside && wanted)) ->
               take_idle_p(v);
               spinning++;
               pick_idle_m();
               if
               :: w == NONE ->
                      w = 0;
                      do :: w < NM && !unborn[w] -> w++ :: else -> break od;
                      if :: w < NM -> unborn[w] = false :: else -> w = NONE fi
               :: else
               fi;
               if :: w != NONE -> idle_m[w] = false :: else fi;
               PUBLISH
        :: else
        fi;
        UNLOCK(t)
    };
    if
    :: v != NONE && w == NONE ->        /* no thread to be had */
           atomic { LOCK(t);
#ifdef FIX_CREATE
               pick_idle_m();
#endif
               if :: w == NONE -> idle_p[v] = true; idle_ps++; spinning--; v = NONE :: else -> idle_m[w] = false fi;
               PUBLISH; UNLOCK(t)
           }
    :: else
    fi;
    if
    :: v != NONE ->                     /* the note's exchange */
           atomic { EMPTY(t) -> next_p[w] = v; told[w] = true; w = NONE; v = NONE }
    :: else
    fi
}

inline after_push(t) {
    if
    :: OWN_WANTED(t) -> wake_one(t, false)
    :: else
    fi
}

inline put_rest(t) {
    if
    :: atomic { hand > 0 -> STORE_RING(t, hand); hand = 0 }
    :: else
    fi
}

/* anything_to_do: one step for each place. */
inline look() {
    i = 0; found = (g > 0);
    do
    :: atomic { i < NP && !found -> found = (q[i] > 0 || timer[i] == 2); i++ }
    :: else -> break
    od;
    i = 0
}

proctype M(byte me) {
    bool spins = false, found = false, far = false, near = false, alarmed = false;
    byte hand = 0, i = 0, v = NONE, w = NONE;

    if
    :: me == 0 -> goto running
    :: else -> goto asleep
    fi;

loop:
    if
    :: atomic { timer[p_of[me]] == 2 -> drain(me); timer[p_of[me]] = 0; STORE_RING(me, 1) }; after_push(me)
    :: else
    fi;
    if
    :: atomic { OWN_RING(me) > 0 -> drain(me); q[p_of[me]]--; goto found_some }
    :: else
    fi;
    if
    :: atomic { g > 0 -> drain(me); hand = (g < g / NP + 1 -> g : g / NP + 1); g = g - hand; hand-- };
       put_rest(me);
#ifdef FIX_BATCH
       after_push(me);
#endif
       goto found_some
    :: else
    fi;
    if
    :: !spins -> atomic { LOCK(me);
           if :: 2 * spinning < NP - idle_ps -> spins = true; spinning++; PUBLISH :: else fi;
           UNLOCK(me) }
    :: else
    fi;
    if
    :: spins -> 
           i = 0;
           do
           :: i < NP && i != p_of[me] ->
                  if
                  :: atomic { q[i] > 0 -> drain(me); hand = (q[i] + 1) / 2; q[i] = q[i] - hand; hand--; i = 0 };
                     put_rest(me);
                     goto found_some
                  :: atomic { timer[i] == 2 -> drain(me); timer[i] = 0; STORE_RING(me, 1); i = 0 };
                     after_push(me);
                     goto loop
                  :: else -> i++
                  fi
           :: i < NP && i == p_of[me] -> i++
           :: else -> i = 0; break
           od
    :: else
    fi;

    /* Step 1. */
    atomic { LOCK(me);
        assert(q[p_of[me]] == 0);
        idle_p[p_of[me]] = true; idle_ps++; p_of[me] = NONE;
        if :: spins -> spinning--; spins = false :: else fi;
        PUBLISH;
        UNLOCK(me)
    };
    /* Step 2. */
#ifndef NO_FENCE
    EMPTY(me);
#endif
    atomic { LOCK(me); far = false };
#ifdef NO_RECHECK
    goto lie_down;
#endif

again:  /* Step 3, with the lock held. */
    found = false;
    if
    :: idle_ps > 0 -> look()
    :: else
    fi;
    if
    :: atomic { found -> found = false; take_idle_p(next_p[me]); spinning++; PUBLISH; UNLOCK(me); goto got_p }
    :: else
    fi;

lie_down:   /* Step 4. */
    atomic { near = (idle_ps < NP && !far); alarmed = TIMER_SET };
    atomic {
        idle_m[me] = true;
        if
        :: lookout == NONE || (near && !lookout_near) || (!near && alarmed && !lookout_near && !lookout_alarm) -> found = true
        :: lookout != NONE && lookout_near && (near || alarmed) -> found = true      /* earlier than the lookout's … */
        :: lookout != NONE && lookout_near && (near || alarmed) -> skip              /* … or not */
        :: else
        fi;
        if
        :: found -> lookout = me; lookout_near = near; lookout_alarm = alarmed;
#ifndef NOT_TIMED
               timed[me] = near;
#endif
               found = false
        :: else -> alarmed = false
        fi;
        near = false;
        PUBLISH;
        UNLOCK(me)
    };
    if
    :: far ->   /* Step 5. */
#ifdef TSO
#ifndef NO_HEAVY
           EMPTY(me);
           do
           :: atomic { i <= NM -> drain(i); i++ }
           :: else -> break
           od;
#endif
#endif
           look();
           atomic { if :: found -> timed[me] = true :: else fi; found = false }
#ifdef FIX_TIMER
           if :: TIMER_SET -> alarmed = true :: else fi
#endif
    :: else
    fi;

asleep:
    if
    :: atomic { told[me] -> told[me] = false; goto got_p }
#ifdef TIMELY
    :: atomic { timed[me] && !told[me] && timeout ->
           if :: QUEUED && idle_ps > 0 -> late++ :: else -> late = 0 fi;
           assert(late <= 1) }
#else
    :: timed[me] && !told[me]
#endif
    :: alarmed && rang && !told[me]
    fi;
    atomic { LOCK(me); timed[me] = false; alarmed = false };
    if
    :: atomic { !idle_m[me] -> UNLOCK(me) };
       atomic { told[me] -> told[me] = false; goto got_p }
    :: else
    fi;
    atomic { 
        idle_m[me] = false;
        if :: lookout == me -> forget_lookout() :: else fi;
        if :: far = true :: far = false fi
    };
    goto again;

got_p:
    atomic { 
        timed[me] = false; alarmed = false; far = false;
        drain(me); 
        p_of[me] = next_p[me]; next_p[me] = NONE; spins = true
    };
    goto loop;

found_some:
    late = 0;
    if
    :: spins ->
           atomic { LOCK(me); spins = false; spinning--; PUBLISH; found = wanted; UNLOCK(me) };
#ifndef NO_CHAIN
           if
           :: found -> found = false; wake_one(me, false)
           :: else
           fi
#endif
           found = false
    :: else
    fi;

running:
    do
    :: atomic { pushes > 0 -> pushes--; STORE_RING(me, 1) }; after_push(me)
#ifdef OVERFLOW
    :: atomic { pushes > 0 -> pushes--; drain(me); STORE_GLOBAL(me) }; after_push(me)
#endif
    :: atomic { timers > 0 && p_of[me] == 0 -> timers--; drain(me); STORE_TIMER(me) }; after_push(me)
    :: goto loop
    :: break
    od;

end_computes:
    false
}

proctype outside() {
    byte n = NOUT, v = NONE, w = NONE;
    do
    :: n > 0 ->
           atomic { n--; STORE_GLOBAL(OUTSIDE) };
#ifndef NO_OUTSIDE_FENCE
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

proctype clock() {
    atomic { timer[0] == 1 -> timer[0] = 2; rang = true }
}

#define SOMEBODY_TIMED (timed[0] || timed[1] || timed[NM - 2] || timed[NM - 1])
#define AVAILABLE(m)   (idle_m[m] || unborn[m])
#define QUEUED         (g > 0 || q[0] > 0 || q[1] > 0 || q[NP - 1] > 0 || timer[0] == 2)

active proctype monitor() {
    timeout && !SOMEBODY_TIMED ->
    assert(spinning == 0 && !lock);
    assert(!(idle_ps > 0 && (AVAILABLE(0) || AVAILABLE(1) || AVAILABLE(NM - 2) || AVAILABLE(NM - 1)) && QUEUED))
}

init {
    byte n = 0;
    atomic {
        do :: n < NM -> p_of[n] = NONE; next_p[n] = NONE; unborn[n] = (n != 0); n++ :: else -> break od;
        n = 0;
        do :: n < NP -> idle_p[n] = (n != 0); n++ :: else -> break od;
        p_of[0] = 0; idle_ps = NP - 1; PUBLISH;
#ifdef TSO
        seen_idle = idle_ps; seen_wanted = wanted;
        n = 0;
        do :: n <= NM -> run buffer(n); n++ :: else -> break od;
#endif
        n = 0;
        do :: n < NM -> run M(n); n++ :: else -> break od;
        run outside(); 
        run clock();
        n = 0
    }
}
