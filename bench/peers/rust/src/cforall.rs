//! Programs that a scheduler must not stumble over, as the Cforall project measures schedulers by.

use crate::measurement::{check, Arguments, Measurement};
use crate::numbers::{random, random_below};
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, AtomicUsize, Ordering};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::Semaphore;

async fn acquire(semaphore: &Semaphore) {
    semaphore.acquire().await.unwrap().forget();
}

/// K rings of five tasks; each waits for its own semaphore and releases the next one's. N hops altogether.
pub async fn run_cycle(a: &Arguments) -> Measurement {
    const RING: usize = 5;
    let tasks = RING * a.k;
    let turns = a.n / tasks + 1;
    let semaphores: Vec<_> = (0..tasks).map(|_| Arc::new(Semaphore::new(0))).collect();
    let mut joins = Vec::with_capacity(tasks);
    let begin = Instant::now();
    for i in 0..tasks {
        let next = if i % RING == RING - 1 { i + 1 - RING } else { i + 1 };
        let (mine, next) = (semaphores[i].clone(), semaphores[next].clone());
        joins.push(tokio::spawn(async move {
            for _ in 0..turns {
                acquire(&mine).await;
                next.add_permits(1);
            }
            turns
        }));
    }
    for i in (0..tasks).step_by(RING) {
        semaphores[i].add_permits(1);
    }
    let mut hops = 0;
    for join in joins {
        hops += join.await.unwrap();
    }
    let elapsed = begin.elapsed();
    check(hops == turns * tasks, "cycle: every task had its turns");
    Measurement::per_op(elapsed, turns * tasks)
}

const NOBODY: usize = 0;

/// Places where tasks meet. Who comes to a place waits there, and sends on whom it finds.
struct Meeting {
    turns_left: AtomicI64,
    over: AtomicBool,
    places: Vec<AtomicUsize>, // who waits there; others than nobody are numbered from 1
    people: Vec<Person>,
    luggage: Vec<Vec<AtomicU64>>,
}

struct Person {
    turn: Semaphore,
    luggage: AtomicUsize, // its number; only who holds the person changes it
}

impl Meeting {
    fn new(tasks: usize, turns: usize, words: usize) -> Self {
        Self {
            turns_left: AtomicI64::new(turns as i64),
            over: AtomicBool::new(false),
            places: (0..tasks / 2).map(|_| AtomicUsize::new(NOBODY)).collect(),
            people: (0..tasks).map(|i| Person { turn: Semaphore::new(0), luggage: AtomicUsize::new(i) }).collect(),
            luggage: (0..tasks).map(|_| (0..words).map(|_| AtomicU64::new(0)).collect()).collect(),
        }
    }

    /// The one who waits, if any, goes on with what `me` has worked on, and leaves its own to `me`.
    fn send_on(&self, other: usize, me: usize) {
        if other == NOBODY {
            return;
        }
        let (found, own) = (&self.people[other - 1], &self.people[me]);
        let theirs = found.luggage.load(Ordering::Relaxed);
        found.luggage.store(own.luggage.load(Ordering::Relaxed), Ordering::Relaxed);
        own.luggage.store(theirs, Ordering::Relaxed);
        found.turn.add_permits(1);
    }

    /// What task `me` does. Returns how many words it touched.
    async fn wander(&self, me: usize, touches: u64) -> u64 {
        let own = &self.people[me];
        let mut touched = 0;
        for step in 0u64.. {
            let draw = random((me as u64) << 40 | step);
            let luggage = &self.luggage[own.luggage.load(Ordering::Relaxed)];
            for i in 0..touches {
                let word = &luggage[(random(draw.wrapping_add(i)) % luggage.len() as u64) as usize];
                word.store(word.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
                // Nobody else has it.
            }
            touched += touches;
            if self.turns_left.fetch_sub(1, Ordering::SeqCst) <= 0 {
                break;
            }
            let place = &self.places[(draw % self.places.len() as u64) as usize];
            self.send_on(place.swap(NOBODY, Ordering::SeqCst), me);
            let other = place.swap(me + 1, Ordering::SeqCst);
            if other != NOBODY {
                self.people[other - 1].turn.add_permits(1);
            }
            if self.over.load(Ordering::SeqCst)
                && place.compare_exchange(me + 1, NOBODY, Ordering::SeqCst, Ordering::SeqCst).is_ok()
            {
                break;
            }
            acquire(&own.turn).await;
            if self.over.load(Ordering::SeqCst) {
                break;
            }
        }
        self.over.store(true, Ordering::SeqCst);
        for place in &self.places {
            self.send_on(place.swap(NOBODY, Ordering::SeqCst), me);
        }
        touched
    }
}

/// churn: K tasks meet N times. locality: each carries 4 KiB and touches C words of it between meetings.
pub async fn run_meetings(a: &Arguments) -> Measurement {
    const LUGGAGE_WORDS: usize = 512;

    async fn meet(tasks: usize, turns: usize, touches: u64) -> Duration {
        let all = Arc::new(Meeting::new(tasks, turns, if touches > 0 { LUGGAGE_WORDS } else { 0 }));
        let mut joins = Vec::with_capacity(tasks);
        let begin = Instant::now();
        for i in 0..tasks {
            let all = all.clone();
            joins.push(tokio::spawn(async move { all.wander(i, touches).await }));
        }
        let mut touched = 0;
        for join in joins {
            touched += join.await.unwrap();
        }
        let elapsed = begin.elapsed();
        let marks: u64 = all.luggage.iter().flatten().map(|word| word.load(Ordering::Relaxed)).sum();
        check(touched >= turns as u64 * touches, "churn, locality: every turn was taken");
        check(marks == touched, "churn, locality: no task changed what another was working on");
        elapsed
    }
    check(a.k >= 2, "churn and locality need two tasks");
    meet(a.k, a.n / 10 + 1, a.cap as u64).await;
    let elapsed = meet(a.k, a.n, a.cap as u64).await;
    Measurement::per_op(elapsed, a.n)
}

/// K tasks, one of them the leader, N times another: the leader waits until everybody has seen that it leads.
pub async fn run_transfer(a: &Arguments) -> Measurement {
    async fn transfer(tasks: usize, times: i64) -> Duration {
        let term = Arc::new(AtomicI64::new(0));
        let seen: Arc<Vec<AtomicI64>> = Arc::new((0..tasks).map(|_| AtomicI64::new(-1)).collect());
        let mut joins = Vec::with_capacity(tasks);
        let begin = Instant::now();
        for me in 0..tasks {
            let (term, seen) = (term.clone(), seen.clone());
            joins.push(tokio::spawn(async move {
                let (mut now, mut led) = (0, 0);
                while now < times {
                    seen[me].store(now, Ordering::SeqCst);
                    if random_below(now as u64, tasks as u64) == me as u64 {
                        for one in seen.iter() {
                            while one.load(Ordering::SeqCst) < now {
                                tokio::task::yield_now().await;
                            }
                        }
                        led += 1;
                        term.store(now + 1, Ordering::SeqCst);
                    } else {
                        while term.load(Ordering::SeqCst) == now {
                            tokio::task::yield_now().await;
                        }
                    }
                    now = term.load(Ordering::SeqCst);
                }
                led
            }));
        }
        let mut led = 0;
        for join in joins {
            led += join.await.unwrap();
        }
        let elapsed = begin.elapsed();
        check(led == times, "transfer: one leader in each term");
        elapsed
    }
    transfer(a.k, a.n as i64 / 10 + 1).await;
    let elapsed = transfer(a.k, a.n as i64).await;
    let mut result = Measurement::default();
    result.add("us_per_op", elapsed.as_nanos() as f64 / 1e3 / a.n as f64);
    result
}
