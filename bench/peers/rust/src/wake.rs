//! From the moment somebody wakes a task until it runs; and one channel on which many wait.

use crate::channels::channel;
use crate::measurement::{check, Arguments, Measurement};
use crate::numbers::{now_ns, report, spin_for, WaitGroup};
use std::future::Future;
use std::sync::atomic::{AtomicI64, AtomicU64, AtomicUsize, Ordering};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::mpsc;

fn latency_of(samples: Vec<i64>, expected: usize) -> Measurement {
    check(samples.len() == expected, "wake: every call arrived");
    let mut result = Measurement::default();
    report(samples, &mut result, "ns", 1.0);
    result
}

/// The waker sends the time through a channel and parks; the two take turns on one P.
pub async fn run_wake_same(a: &Arguments) -> Measurement {
    let (call, mut calls) = mpsc::channel::<i64>(1);
    let (answer, mut answers) = channel(0);
    let mut latency = Vec::with_capacity(a.n);
    let wakee = tokio::spawn(async move {
        while let Some(sent) = calls.recv().await {
            latency.push(now_ns() - sent);
            answer.send(0).await.unwrap();
        }
        latency
    });
    for _ in 0..a.n {
        call.send(now_ns()).await.unwrap();
        check(answers.recv().await.is_some(), "wake_same: an answer to every call");
    }
    drop(call);
    latency_of(wakee.await.unwrap(), a.n)
}

/// The waker works on for 200 µs, or until the other has run; so somebody else's P has to come for it.
pub async fn run_wake_busy(a: &Arguments) -> Measurement {
    const PATIENCE_NS: i64 = 200_000;
    let pause_ns = a.cap as i64;
    let answered = Arc::new(AtomicI64::new(0));
    let (call, mut calls) = mpsc::channel::<i64>(2);
    let mut latency = Vec::with_capacity(a.n);
    let answering = answered.clone();
    let wakee = tokio::spawn(async move {
        while let Some(sent) = calls.recv().await {
            latency.push(now_ns() - sent);
            answering.fetch_add(1, Ordering::SeqCst);
        }
        latency
    });
    for i in 0..a.n as i64 {
        spin_for(pause_ns);
        let begin = now_ns();
        call.send(begin).await.unwrap();
        while answered.load(Ordering::SeqCst) <= i {
            if now_ns() - begin > PATIENCE_NS {
                tokio::task::yield_now().await;
            }
        }
    }
    drop(call);
    latency_of(wakee.await.unwrap(), a.n)
}

/// Everything sleeps; a plain OS thread wakes the task every millisecond.
pub async fn run_wake_idle(a: &Arguments) -> Measurement {
    let (call, mut calls) = mpsc::channel::<i64>(64);
    let count = a.n;
    let outside = std::thread::spawn(move || {
        for _ in 0..count {
            std::thread::sleep(Duration::from_millis(1));
            call.blocking_send(now_ns()).unwrap();
        }
    });
    let mut latency = Vec::with_capacity(a.n);
    while let Some(sent) = calls.recv().await {
        latency.push(now_ns() - sent);
    }
    outside.join().unwrap();
    latency_of(latency, a.n)
}

/// K tasks wait on a channel, which is closed; until the last of them runs. N/K rounds.
pub async fn run_fan_out(a: &Arguments) -> Measurement {
    const SETTLE_NS: i64 = 20_000;
    let tasks = a.k;
    let rounds = a.n / tasks;
    check(rounds >= 1, "fan_out needs n >= k");
    let mut until_last = Vec::with_capacity(rounds);
    for _ in 0..rounds {
        let (sender, receiver) = async_channel::bounded::<u64>(1);
        let (parked, done) = (Arc::new(WaitGroup::new(tasks)), Arc::new(WaitGroup::new(tasks)));
        let (running, end) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicI64::new(0)));
        for _ in 0..tasks {
            let (receiver, parked, done) = (receiver.clone(), parked.clone(), done.clone());
            let (running, end) = (running.clone(), end.clone());
            tokio::spawn(async move {
                parked.done();
                check(receiver.recv().await.is_err(), "fan_out: the gate carries nothing");
                if running.fetch_add(1, Ordering::SeqCst) + 1 == tasks {
                    end.store(now_ns(), Ordering::SeqCst);
                }
                done.done();
            });
        }
        parked.wait().await;
        spin_for(SETTLE_NS);
        let begin = now_ns();
        sender.close();
        done.wait().await;
        until_last.push(end.load(Ordering::SeqCst) - begin);
    }
    let mut result = Measurement::default();
    report(until_last, &mut result, "us", 1e3);
    result
}

/// Starts K tasks that each run `wait` once, lets them park, and returns how long `release` takes until all have ended.
async fn time_release<W>(tasks: usize, wait: impl Fn(u64) -> W, release: impl Future<Output = ()>) -> Duration
where
    W: Future<Output = ()> + Send + 'static,
{
    let (parked, done) = (Arc::new(WaitGroup::new(tasks)), Arc::new(WaitGroup::new(tasks)));
    for i in 0..tasks {
        let (parked, done, waiting) = (parked.clone(), done.clone(), wait(i as u64));
        tokio::spawn(async move {
            parked.done();
            waiting.await;
            done.done();
        });
    }
    parked.wait().await;
    let begin = Instant::now();
    release.await;
    done.wait().await;
    begin.elapsed()
}

/// One channel on which K tasks wait; what it costs to serve each of them. N/K rounds.
pub async fn run_chan_waiters(a: &Arguments) -> Measurement {
    let tasks = a.k;
    let rounds = a.n / tasks;
    check(rounds >= 1, "chan_waiters needs n >= k");
    let expected = (tasks * (tasks - 1) / 2) as u64;
    let sum = Arc::new(AtomicU64::new(0));
    let mut times = [Duration::ZERO; 3];
    for round in 0..=rounds {
        if round == 1 {
            times = [Duration::ZERO; 3]; // The first was to warm up.
        }
        let (sender, receiver) = async_channel::bounded::<u64>(1);
        let receive_one = |_| {
            let (receiver, sum) = (receiver.clone(), sum.clone());
            async move {
                sum.fetch_add(receiver.recv().await.unwrap(), Ordering::Relaxed);
            }
        };
        times[0] += time_release(tasks, receive_one, async {
            for i in 0..tasks as u64 {
                sender.send(i).await.unwrap();
            }
        })
        .await;
        check(sum.swap(0, Ordering::SeqCst) == expected, "chan_waiters: what was sent was received");

        let (sender, receiver) = async_channel::bounded::<u64>(1);
        let send_one = |i| {
            let sender = sender.clone();
            async move { sender.send(i).await.unwrap() }
        };
        times[1] += time_release(tasks, send_one, async {
            for _ in 0..tasks {
                sum.fetch_add(receiver.recv().await.unwrap(), Ordering::Relaxed);
            }
        })
        .await;
        check(sum.swap(0, Ordering::SeqCst) == expected, "chan_waiters: what was received was sent");

        let (sender, receiver) = async_channel::bounded::<u64>(1);
        let see_close = |_| {
            let (receiver, sum) = (receiver.clone(), sum.clone());
            async move {
                check(receiver.recv().await.is_err(), "chan_waiters: the channel is closed");
                sum.fetch_add(1, Ordering::Relaxed);
            }
        };
        times[2] += time_release(tasks, see_close, async {
            sender.close();
        })
        .await;
        check(sum.swap(0, Ordering::SeqCst) == tasks as u64, "chan_waiters: the close wakes every task");
    }

    let served = rounds * tasks;
    let mut result = Measurement::per_op(times.iter().sum(), served);
    for (name, time) in ["send_ns", "recv_ns", "close_ns"].into_iter().zip(times) {
        result.add_per_op(name, time, served);
    }
    result
}
