//! Who gets a lock how often and how late; a reader-writer lock. tokio has no condition variable.

use crate::measurement::{check, Arguments, Measurement};
use crate::numbers::{now_ns, spin_for};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::{Mutex, RwLock};

struct Contest {
    shares: Vec<usize>,
    elapsed: Duration,
    longest_wait: i64,
}

/// K tasks take a lock N times between them, each as often as it can.
async fn contend(tasks: usize, total: usize, section_ns: i64, time_waits: bool) -> Contest {
    let left = Arc::new(Mutex::new(total));
    let mut joins = Vec::with_capacity(tasks);
    let begin = Instant::now();
    for _ in 0..tasks {
        let left = left.clone();
        joins.push(tokio::spawn(async move {
            let (mut mine, mut longest) = (0, 0);
            loop {
                let asked = if time_waits { now_ns() } else { 0 };
                let mut left = left.lock().await;
                if time_waits {
                    longest = longest.max(now_ns() - asked);
                }
                if *left == 0 {
                    return (mine, longest);
                }
                *left -= 1;
                if section_ns > 0 {
                    spin_for(section_ns);
                }
                mine += 1;
            }
        }));
    }
    let mut result = Contest { shares: Vec::with_capacity(tasks), elapsed: Duration::ZERO, longest_wait: 0 };
    for join in joins {
        let (share, wait) = join.await.unwrap();
        result.shares.push(share);
        result.longest_wait = result.longest_wait.max(wait);
    }
    result.elapsed = begin.elapsed();
    check(result.shares.iter().sum::<usize>() == total, "mutex_fair: every turn belongs to a task");
    result
}

/// C is the time for which the lock is held, in nanoseconds.
pub async fn run_mutex_fair(a: &Arguments) -> Measurement {
    let section_ns = a.cap as i64;
    contend(a.k, a.n / 10 + a.k, section_ns, false).await;
    let fast = contend(a.k, a.n, section_ns, false).await;
    let timed = contend(a.k, a.n, section_ns, true).await;

    let spread = fast.shares.iter().max().unwrap() - fast.shares.iter().min().unwrap();
    let mut result = Measurement::per_op(fast.elapsed, a.n);
    result.add("max_wait_us", timed.longest_wait as f64 / 1e3);
    result.add("share_spread", (spread * a.k) as f64 / a.n as f64);
    result
}

/// K tasks share eight words under a reader-writer lock; one operation in ten writes them, the others read them.
pub async fn run_rwlock(a: &Arguments) -> Measurement {
    const WRITE_EVERY: usize = 10;

    async fn share(tasks: usize, total: usize) -> Duration {
        let each = total / tasks;
        let words = Arc::new(RwLock::new([0u64; 8]));
        let mut joins = Vec::with_capacity(tasks);
        let begin = Instant::now();
        for _ in 0..tasks {
            let words = words.clone();
            joins.push(tokio::spawn(async move {
                for j in 0..each {
                    if j % WRITE_EVERY == WRITE_EVERY - 1 {
                        words.write().await.iter_mut().for_each(|word| *word += 1);
                    } else {
                        let words = words.read().await;
                        let sum: u64 = words.iter().sum();
                        check(sum == 8 * words[0], "rwlock: no task writes while another reads");
                    }
                }
            }));
        }
        for join in joins {
            join.await.unwrap();
        }
        let elapsed = begin.elapsed();
        check(words.read().await[7] == (each / WRITE_EVERY * tasks) as u64, "rwlock: no increment is lost");
        elapsed
    }
    share(a.k, a.n / 10 + a.k).await;
    let elapsed = share(a.k, a.n).await;
    Measurement::per_op(elapsed, a.n / a.k * a.k)
}
