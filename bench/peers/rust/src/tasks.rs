//! Yielding, spawning, and a lock.

use crate::measurement::{check, read_memory, Arguments, Measurement, Memory};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Instant;

struct Crowd {
    started: AtomicUsize,
    awake: AtomicUsize,
    parked: tokio::sync::Notify,
    finished: AtomicUsize,
    open: AtomicBool,
    times: Mutex<[Option<Instant>; 2]>,
}

/// K tasks take turns: all start and park, all wake, then each yields exactly N/K times.
pub async fn run_yield(a: &Arguments) -> Measurement {
    let tasks = a.k;
    let each = a.n / tasks;
    check(each >= 1, "yield needs n >= k");

    let crowd = Arc::new(Crowd {
        started: AtomicUsize::new(0),
        awake: AtomicUsize::new(0),
        parked: tokio::sync::Notify::new(),
        finished: AtomicUsize::new(0),
        open: AtomicBool::new(false),
        times: Mutex::new([None, None]),
    });
    let (sender, receiver) = async_channel::bounded::<u64>(1);
    let mut joins = Vec::with_capacity(tasks);
    for _ in 0..tasks {
        let (receiver, crowd) = (receiver.clone(), crowd.clone());
        joins.push(tokio::spawn(async move {
            if crowd.started.fetch_add(1, Ordering::SeqCst) + 1 == tasks {
                crowd.parked.notify_one();
            }
            check(receiver.recv().await.is_err(), "yield: the gate carries nothing");
            if crowd.awake.fetch_add(1, Ordering::SeqCst) + 1 == tasks {
                crowd.times.lock().unwrap()[0] = Some(Instant::now());
                crowd.open.store(true, Ordering::Release);
            }
            while !crowd.open.load(Ordering::Acquire) {
                tokio::task::yield_now().await;
            }
            for _ in 0..each {
                tokio::task::yield_now().await;
            }
            if crowd.finished.fetch_add(1, Ordering::SeqCst) + 1 == tasks {
                crowd.times.lock().unwrap()[1] = Some(Instant::now());
            }
        }));
    }
    crowd.parked.notified().await;
    sender.close();
    for join in joins {
        join.await.unwrap();
    }
    check(crowd.finished.load(Ordering::SeqCst) == tasks, "yield: every task finishes once");
    let [begin, end] = *crowd.times.lock().unwrap();
    Measurement::per_op(end.unwrap() - begin.unwrap(), each * tasks)
}

/// Spawns an empty task and joins it, N times over.
pub async fn run_spawn_join(a: &Arguments) -> Measurement {
    async fn spawn_many(count: usize) -> usize {
        let mut ran = 0;
        for _ in 0..count {
            ran += tokio::spawn(async { 1 }).await.unwrap();
        }
        ran
    }
    check(spawn_many(a.n / 10).await == a.n / 10, "spawn_join: every task of the warm-up ran once");
    let begin = Instant::now();
    let ran = spawn_many(a.n).await;
    let elapsed = begin.elapsed();
    check(ran == a.n, "spawn_join: every task ran once");
    Measurement::per_op(elapsed, a.n)
}

/// Spawns K empty tasks and joins them all by their handles, N/K times over; the first batch is cold.
pub async fn run_spawn_batch(a: &Arguments) -> Measurement {
    async fn spawn_batch(batch: usize, unstarted: Option<&mut Memory>) {
        let mut joins = Vec::with_capacity(batch);
        for _ in 0..batch {
            joins.push(tokio::spawn(async {}));
        }
        if let Some(memory) = unstarted {
            *memory = read_memory();
        }
        for join in joins {
            join.await.unwrap();
        }
    }
    let batches = a.n / a.k;
    check(batches >= 1, "spawn_batch needs n >= k");

    let mut unstarted = Memory::default();
    let before = read_memory();
    let cold = Instant::now();
    spawn_batch(a.k, Some(&mut unstarted)).await;
    let begin = Instant::now();
    for _ in 0..batches {
        spawn_batch(a.k, None).await;
    }
    let elapsed = begin.elapsed();

    let mut result = Measurement::per_op(elapsed, batches * a.k);
    result.add_per_op("cold_ns", begin - cold, a.k);
    result.add("unstarted_bytes", (unstarted.resident - before.resident) / a.k as f64);
    result.add("peak_mib", read_memory().peak / (1 << 20) as f64);
    result
}

struct Gathering {
    arrived: AtomicUsize,
    woken: AtomicUsize,
    finished: AtomicUsize,
    parked: tokio::sync::Notify,
    done: tokio::sync::Notify,
}

/// N tasks park on one channel, which is then closed; cold, then warm.
pub async fn run_spawn_block(a: &Arguments) -> Measurement {
    let tasks = a.n;
    let mut result = Measurement::default();
    for cold in [true, false] {
        let (sender, receiver) = async_channel::bounded::<u64>(1);
        let gathering = Arc::new(Gathering {
            arrived: AtomicUsize::new(0),
            woken: AtomicUsize::new(0),
            finished: AtomicUsize::new(0),
            parked: tokio::sync::Notify::new(),
            done: tokio::sync::Notify::new(),
        });

        let before = read_memory();
        let begin = Instant::now();
        for _ in 0..tasks {
            let (receiver, gathering) = (receiver.clone(), gathering.clone());
            tokio::spawn(async move {
                if gathering.arrived.fetch_add(1, Ordering::SeqCst) + 1 == tasks {
                    gathering.parked.notify_one();
                }
                if receiver.recv().await.is_err() {
                    gathering.woken.fetch_add(1, Ordering::Relaxed);
                }
                if gathering.finished.fetch_add(1, Ordering::SeqCst) + 1 == tasks {
                    gathering.done.notify_one();
                }
            });
        }
        gathering.parked.notified().await;
        let created = Instant::now();
        let during = read_memory();
        let release = Instant::now();
        sender.close();
        gathering.done.notified().await;
        let end = Instant::now();
        check(gathering.woken.load(Ordering::SeqCst) == tasks, "spawn_block: the close wakes every task");

        let (create, free) = (created - begin, end - release);
        if cold {
            result.add_per_op("cold_create_ns", create, tasks);
            result.add_per_op("cold_release_ns", free, tasks);
            result.add_per_op("cold_ns", create + free, tasks);
            result.add("parked_bytes", (during.resident - before.resident) / tasks as f64);
            result.add("page_table_bytes", (during.page_table - before.page_table) / tasks as f64);
        } else {
            result.add_per_op("create_ns", create, tasks);
            result.add_per_op("release_ns", free, tasks);
            result.add_per_op("ns_per_op", create + free, tasks);
        }
    }
    result
}

/// K tasks share one lock and the counter inside it.
pub async fn run_mutex(a: &Arguments) -> Measurement {
    async fn contend(tasks: usize, total: usize) -> std::time::Duration {
        let each = total / tasks;
        let counter = Arc::new(tokio::sync::Mutex::new(0));
        let mut joins = Vec::with_capacity(tasks);
        let begin = Instant::now();
        for _ in 0..tasks {
            let counter = counter.clone();
            joins.push(tokio::spawn(async move {
                for _ in 0..each {
                    *counter.lock().await += 1;
                }
            }));
        }
        for join in joins {
            join.await.unwrap();
        }
        let elapsed = begin.elapsed();
        check(*counter.lock().await == each * tasks, "mutex: no increment is lost");
        elapsed
    }
    contend(a.k, a.n / 10 + a.k).await;
    let elapsed = contend(a.k, a.n).await;
    Measurement::per_op(elapsed, a.n / a.k * a.k)
}
