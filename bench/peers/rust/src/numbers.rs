//! Random numbers, clocks and percentiles, as the other languages have them; a wait group.

use crate::measurement::Measurement;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::OnceLock;
use std::time::Instant;

/// SplitMix64's step as a hash: random(i) is the i-th number of one sequence.
pub fn random(x: u64) -> u64 {
    let x = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// A number from 0 to limit - 1.
pub fn random_below(x: u64, limit: u64) -> u64 {
    random(x) % limit
}

/// Work that costs a few nanoseconds a step and cannot be left out.
pub fn hash_over(x: u64, steps: usize) -> u64 {
    (0..steps).fold(x, |x, _| random(x))
}

/// The monotonic clock.
pub fn now_ns() -> i64 {
    static START: OnceLock<Instant> = OnceLock::new();
    START.get_or_init(Instant::now).elapsed().as_nanos() as i64
}

/// Keeps the CPU busy for so long.
pub fn spin_for(ns: i64) {
    let begin = now_ns();
    while now_ns() - begin < ns {}
}

/// The CPU time of all threads of the process.
pub fn cpu_ns() -> i64 {
    let mut used = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut used) };
    used.tv_sec * 1_000_000_000 + used.tv_nsec
}

/// How often a thread of the process gave up its CPU because it had nothing to do.
pub fn voluntary_switches() -> i64 {
    unsafe {
        let mut usage = std::mem::zeroed::<libc::rusage>();
        libc::getrusage(libc::RUSAGE_SELF, &mut usage);
        usage.ru_nvcsw
    }
}

/// Percentiles of single durations.
pub fn report(mut samples: Vec<i64>, result: &mut Measurement, unit: &str, scale: f64) {
    samples.sort_unstable();
    for (name, share) in [("p50", 0.5), ("p99", 0.99), ("p999", 0.999), ("max", 1.0)] {
        let at = (share * (samples.len() - 1) as f64) as usize;
        result.add(&format!("{name}_{unit}"), samples[at] as f64 / scale);
    }
}

/// Counts tasks down; whoever waits goes on when there are none.
pub struct WaitGroup {
    left: AtomicUsize,
    zero: tokio::sync::Notify,
}

impl WaitGroup {
    pub fn new(count: usize) -> Self {
        Self { left: AtomicUsize::new(count), zero: tokio::sync::Notify::new() }
    }

    pub fn done(&self) {
        if self.left.fetch_sub(1, Ordering::SeqCst) == 1 {
            self.zero.notify_one();
        }
    }

    /// By one task, once.
    pub async fn wait(&self) {
        self.zero.notified().await;
    }
}
