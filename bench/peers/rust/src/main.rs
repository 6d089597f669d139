//! The suite over tokio's multi-threaded runtime. The work is that of `bench/workload/*.h`.
//!
//! Settings, chosen by measuring: `worker_threads(P)`; no I/O driver, and a time driver only where time is waited for: without
//! them a yield with an empty queue is cheaper; link-time optimization; panic = abort. mimalloc, because glibc's
//! malloc is slow at the 128-byte alignment of a task: spawning costs twice as much with it.
//! async-channel 1.9, because 2.5 takes twice as long per message.
//!
//! Where the work differs from the others': tokio has no rendezvous channel, so capacity 0 becomes
//! a `tokio::sync::mpsc` of capacity 1, where a send returns before anyone has received. Channels
//! with several receivers, those that a crowd parks on, and those of a select whose width is known at run time, are
//! async-channel's. Tasks have no stack. There is no condition variable, and no timer that calls a function: a task sleeps.

mod cforall;
mod channels;
mod classic;
mod fork_join;
mod locks;
mod measurement;
mod numbers;
mod savina;
mod selects;
mod tasks;
mod timers;
mod wake;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

use measurement::{parse_arguments, Arguments, Measurement};

async fn run(arguments: Arguments) -> Option<Measurement> {
    let a = &arguments;
    Some(match a.workload.as_str() {
        "yield" => tasks::run_yield(a).await,
        "spawn_join" => tasks::run_spawn_join(a).await,
        "spawn_batch" => tasks::run_spawn_batch(a).await,
        "spawn_block" => tasks::run_spawn_block(a).await,
        "mutex" => tasks::run_mutex(a).await,
        "mutex_fair" => locks::run_mutex_fair(a).await,
        "rwlock" => locks::run_rwlock(a).await,
        "pingpong" => channels::run_pingpong(a).await,
        "mpmc" if a.k == 1 => channels::run_stream(a).await,
        "mpmc" => channels::run_mpmc(a).await,
        "sieve" => classic::run_sieve(a).await,
        "ring" => classic::run_ring(a).await,
        "skynet" => classic::run_skynet(a).await,
        "select_ready" => selects::run_select_ready(a).await,
        "select_block" => selects::run_select_block(a).await,
        "select_default" => selects::run_select_default(a).await,
        "select_meet" => selects::run_select_meet(a).await,
        "select_width" => selects::run_select_width(a).await,
        "withdraw" => selects::run_withdraw(a).await,
        "fib" => fork_join::run_fib(a).await,
        "nqueens" => fork_join::run_nqueens(a).await,
        "uts" => fork_join::run_uts(a).await,
        "matmul" => fork_join::run_matmul(a).await,
        "timer_add_stop" => timers::run_timer_add_stop(a).await,
        "timer_reset" => timers::run_timer_reset(a).await,
        "timer_fire" => timers::run_timer_fire(a).await,
        "sleep_precision" => timers::run_sleep_precision(a).await,
        "sleep_staggered" => timers::run_sleep_staggered(a).await,
        "wake_same" => wake::run_wake_same(a).await,
        "wake_busy" => wake::run_wake_busy(a).await,
        "wake_idle" => wake::run_wake_idle(a).await,
        "fan_out" => wake::run_fan_out(a).await,
        "chan_waiters" => wake::run_chan_waiters(a).await,
        "cycle" => cforall::run_cycle(a).await,
        "churn" | "locality" => cforall::run_meetings(a).await,
        "transfer" => cforall::run_transfer(a).await,
        "savina_count" => savina::run_count(a).await,
        "savina_fjcreate" => savina::run_fjcreate(a).await,
        "savina_big" => savina::run_big(a).await,
        "savina_bndbuffer" => savina::run_bndbuffer(a).await,
        "savina_banking" => savina::run_banking(a).await,
        _ => return None,
    })
}

fn main() {
    let arguments = parse_arguments();
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    builder.worker_threads(arguments.p);
    if arguments.workload.starts_with("timer_") || arguments.workload.starts_with("sleep_") {
        builder.enable_time();
    }
    let runtime = builder.build().expect("a runtime");
    for _ in 0..arguments.reps {
        // As a task of its own: block_on would run it on this thread, which is no worker.
        let body = runtime.spawn(run(arguments.clone()));
        match runtime.block_on(body).expect("the workload") {
            Some(result) => result.print(&arguments),
            None => {
                eprintln!("bench: no workload '{}'", arguments.workload);
                std::process::exit(2);
            }
        }
    }
}
