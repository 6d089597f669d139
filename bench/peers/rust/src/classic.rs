//! The three programs every scheduler is shown with: prime sieve, thread ring, skynet.

use crate::channels::channel;
use crate::measurement::{check, read_memory, Arguments, Measurement};
use std::future::Future;
use std::pin::Pin;
use std::time::Instant;
use tokio::sync::mpsc;

#[derive(Clone, Copy, PartialEq)]
struct Primes {
    count: u64,
    last: u64,
}

/// The answer by arithmetic, to compare with.
fn primes_up_to(limit: u64) -> Primes {
    let mut composite = vec![false; limit as usize + 1];
    let mut result = Primes { count: 0, last: 0 };
    for i in 2..=limit {
        if composite[i as usize] {
            continue;
        }
        result = Primes { count: result.count + 1, last: i };
        for j in (i * i..=limit).step_by(i as usize) {
            composite[j as usize] = true;
        }
    }
    result
}

/// A generator sends 2..=limit down a growing chain of filters, one per prime found.
async fn sieve(limit: u64) -> Primes {
    let (generator, mut source) = channel(0);
    let mut joins = vec![tokio::spawn(async move {
        for i in 2..=limit {
            generator.send(i).await.unwrap();
        }
    })];
    let mut found = Primes { count: 0, last: 0 };
    while let Some(prime) = source.recv().await {
        found = Primes { count: found.count + 1, last: prime };
        let (out, filtered) = channel(0);
        let mut input = std::mem::replace(&mut source, filtered);
        joins.push(tokio::spawn(async move {
            while let Some(candidate) = input.recv().await {
                if candidate % prime != 0 {
                    out.send(candidate).await.unwrap();
                }
            }
        }));
    }
    for join in joins {
        join.await.unwrap();
    }
    found
}

pub async fn run_sieve(a: &Arguments) -> Measurement {
    let (warm_up, limit) = (a.n as u64 / 10 + 10, a.n as u64);
    check(sieve(warm_up).await == primes_up_to(warm_up), "sieve: the primes of the warm-up");

    let begin = Instant::now();
    let found = sieve(limit).await;
    let elapsed = begin.elapsed();
    check(found == primes_up_to(limit), "sieve: count and last prime");

    let mut result = Measurement::default();
    result.add("ms", elapsed.as_nanos() as f64 / 1e6);
    result
}

/// K tasks in a ring; a token makes N hops. Returns the number (from 0) of the task that received
/// zero.
async fn thread_ring(tasks: usize, hops: u64) -> usize {
    let (mut senders, receivers): (Vec<_>, Vec<_>) = (0..tasks).map(|_| channel(0)).unzip();
    let first = senders[0].clone();
    senders.rotate_left(1); // senders[i] now leads to task i + 1.
    let mut joins = Vec::with_capacity(tasks);
    for (mut input, out) in receivers.into_iter().zip(senders) {
        joins.push(tokio::spawn(async move {
            while let Some(token) = input.recv().await {
                if token == 0 {
                    return true; // Drops `out`, which closes the next channel.
                }
                // The last task's neighbour may be the one that received zero.
                if out.send(token - 1).await.is_err() {
                    return false;
                }
            }
            false
        }));
    }
    first.send(hops).await.unwrap();
    drop(first);
    let mut winner = usize::MAX;
    for (i, join) in joins.into_iter().enumerate() {
        if join.await.unwrap() {
            winner = i;
        }
    }
    winner
}

pub async fn run_ring(a: &Arguments) -> Measurement {
    let warm_up = a.n / 10;
    check(thread_ring(a.k, warm_up as u64).await == warm_up % a.k, "ring: the winner of the warm-up");

    let begin = Instant::now();
    let winner = thread_ring(a.k, a.n as u64).await;
    let elapsed = begin.elapsed();
    check(winner == a.n % a.k, "ring: the winner");
    Measurement::per_op(elapsed, a.n)
}

/// One node of the tree: sends the sum of its leaves' numbers to its parent. Boxed, because it
/// spawns itself.
fn skynet(parent: mpsc::Sender<u64>, number: u64, leaves: u64) -> Pin<Box<dyn Future<Output = ()> + Send>> {
    const FAN_OUT: u64 = 10;
    Box::pin(async move {
        if leaves == 1 {
            parent.send(number).await.unwrap();
            return;
        }
        let (sender, mut results) = channel(0);
        let share = leaves / FAN_OUT;
        for i in 0..FAN_OUT {
            tokio::spawn(skynet(sender.clone(), number + i * share, share));
        }
        let mut sum = 0;
        for _ in 0..FAN_OUT {
            sum += results.recv().await.unwrap();
        }
        parent.send(sum).await.unwrap();
    })
}

pub async fn run_skynet(a: &Arguments) -> Measurement {
    let leaves = a.n as u64;
    let mut result = Measurement::default();
    for metric in ["cold_ms", "ms"] {
        let (sender, mut root) = channel(0);
        let begin = Instant::now();
        tokio::spawn(skynet(sender, 0, leaves));
        let sum = root.recv().await.unwrap();
        let elapsed = begin.elapsed();
        check(sum == leaves * (leaves - 1) / 2, "skynet: the sum of the leaves");
        result.add(metric, elapsed.as_nanos() as f64 / 1e6);
    }
    result.add("peak_mib", read_memory().peak / (1 << 20) as f64);
    result
}
