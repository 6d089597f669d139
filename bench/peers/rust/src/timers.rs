//! Timers, and sleeping. tokio's timer is a future that sleeps: started by its first poll, stopped by dropping it. One that
//! fires by itself is a task. Its clock counts milliseconds.

use crate::measurement::{check, Arguments, Measurement};
use crate::numbers::{cpu_ns, now_ns, random_below, report, voluntary_switches, WaitGroup};
use std::future::{poll_fn, Future};
use std::pin::{pin, Pin};
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;
use tokio::time::{sleep, sleep_until, Instant, Sleep};

const HOUR_NS: u64 = 3600 * 1_000_000_000;

/// The i-th deadline, as a time from now: between one hour and two.
fn far_off(i: u64) -> Duration {
    Duration::from_nanos(HOUR_NS + random_below(i, HOUR_NS))
}

/// Starts it. Must be called without tokio's budget, which would have the 129th poll do nothing.
async fn start(mut timer: Pin<&mut Sleep>) {
    let pending = poll_fn(|context| Poll::Ready(timer.as_mut().poll(context).is_pending())).await;
    check(pending, "timers: one fired an hour early");
}

async fn pending_timers(count: usize) -> Vec<Pin<Box<Sleep>>> {
    let mut timers = Vec::with_capacity(count);
    for i in 0..count {
        let mut timer = Box::pin(sleep(far_off(i as u64)));
        start(timer.as_mut()).await;
        timers.push(timer);
    }
    timers
}

/// Starts a timer and stops it, N times over, while C others are pending.
pub async fn run_timer_add_stop(a: &Arguments) -> Measurement {
    async fn add_and_stop(count: u64) {
        for i in 0..count {
            let mut timer = pin!(sleep(far_off(!i)));
            start(timer.as_mut()).await;
            check(!timer.is_elapsed(), "timer_add_stop: stopped before it fired");
        }
    }
    tokio::task::unconstrained(async {
        let pending = pending_timers(a.cap).await;
        add_and_stop(a.n as u64 / 10 + 1).await;
        let begin = Instant::now();
        add_and_stop(a.n as u64).await;
        let elapsed = begin.elapsed();
        check(pending.iter().all(|timer| !timer.is_elapsed()), "timers: still pending at the end");
        Measurement::per_op(elapsed, a.n)
    })
    .await
}

/// Gives one of C pending timers (of one, if C is 0), drawn at random, another deadline, N times over.
pub async fn run_timer_reset(a: &Arguments) -> Measurement {
    fn put_off(pending: &mut [Pin<Box<Sleep>>], times: u64) {
        let count = pending.len() as u64;
        for i in 0..times {
            let timer = &mut pending[random_below(i, count) as usize];
            check(!timer.is_elapsed(), "timer_reset: pending before");
            timer.as_mut().reset(Instant::now() + far_off(!i));
        }
    }
    tokio::task::unconstrained(async {
        let mut pending = pending_timers(a.cap.max(1)).await;
        put_off(&mut pending, a.n as u64 / 10 + 1);
        let begin = Instant::now();
        put_off(&mut pending, a.n as u64);
        let elapsed = begin.elapsed();
        check(pending.iter().all(|timer| !timer.is_elapsed()), "timers: still pending at the end");
        Measurement::per_op(elapsed, a.n)
    })
    .await
}

/// N timers, due at random within N microseconds and started before the first is due, all fire.
pub async fn run_timer_fire(a: &Arguments) -> Measurement {
    const APART_NS: i64 = 1000;
    let count = a.n;
    let rounds = (20_000 / count).clamp(1, 1000);
    let lead_ns = 200_000 + 2 * APART_NS * count as i64;
    let late: Arc<Vec<AtomicI64>> = Arc::new((0..count).map(|_| AtomicI64::new(0)).collect());
    let mut lateness = Vec::with_capacity(rounds * count);
    let (mut arming, mut firing_cpu) = (0, 0);
    let cpu_before = cpu_ns();

    for round in 0..rounds {
        let done = Arc::new(WaitGroup::new(count));
        let (clock, begin) = (Instant::now(), now_ns());
        let first_due = begin + lead_ns;
        for i in 0..count {
            let due = first_due + random_below((i + round) as u64, count as u64) as i64 * APART_NS;
            let (late, done) = (late.clone(), done.clone());
            tokio::spawn(async move {
                sleep_until(clock + Duration::from_nanos((due - begin) as u64)).await;
                late[i].store(now_ns() - due, Ordering::Relaxed);
                done.done();
            });
        }
        arming += now_ns() - begin;
        let cpu_armed = cpu_ns();
        done.wait().await;
        firing_cpu += cpu_ns() - cpu_armed;
        for ns in late.iter() {
            check(ns.load(Ordering::Relaxed) >= 0, "timer_fire: none is early");
            lateness.push(ns.load(Ordering::Relaxed));
        }
    }

    let mut result = Measurement::default();
    report(lateness, &mut result, "us", 1e3);
    result.add("cpu_s", (cpu_ns() - cpu_before) as f64 / 1e9);
    result.add("arm_ns", arming as f64 / (rounds * count) as f64);
    result.add("fire_ns", firing_cpu as f64 / (rounds * count) as f64);
    result
}

/// One task sleeps K microseconds, N times over; nothing else runs.
pub async fn run_sleep_precision(a: &Arguments) -> Measurement {
    let asked = Duration::from_micros(a.k as u64);
    let mut overshoot = Vec::with_capacity(a.n);
    for _ in 0..a.n {
        let begin = Instant::now();
        sleep(asked).await;
        let slept = begin.elapsed();
        check(slept >= asked, "sleep_precision: not shorter than asked for");
        overshoot.push((slept - asked).as_nanos() as i64);
    }
    let mut result = Measurement::default();
    report(overshoot, &mut result, "us", 1e3);
    result
}

/// K tasks sleep 500, 510, 520 … microseconds over and over, for N milliseconds.
pub async fn run_sleep_staggered(a: &Arguments) -> Measurement {
    let whole = Duration::from_millis(a.n as u64);
    let (cpu_before, switches_before) = (cpu_ns(), voluntary_switches());
    let begin = Instant::now();
    let mut joins = Vec::with_capacity(a.k);
    for i in 0..a.k {
        joins.push(tokio::spawn(async move {
            let asked = Duration::from_micros(500 + 10 * i as u64);
            let mut mine = 0;
            while begin.elapsed() < whole {
                sleep(asked).await;
                mine += 1;
            }
            let most = (whole.as_nanos() / asked.as_nanos()) as i64 + 1;
            check(mine > 0 && mine <= most, "sleep_staggered: as often as there is time for");
            mine
        }));
    }
    let mut sleeps = 0;
    for join in joins {
        sleeps += join.await.unwrap();
    }
    let seconds = begin.elapsed().as_secs_f64();

    let mut result = Measurement::default();
    result.add("cpu_percent", (cpu_ns() - cpu_before) as f64 / 1e7 / seconds);
    result.add("sleeps_per_s", sleeps as f64 / seconds);
    result.add("wakes_per_s", (voluntary_switches() - switches_before) as f64 / seconds);
    result
}
