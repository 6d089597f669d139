//! The suite over tokio's multi-threaded runtime. The work is that of `bench/workload/*.h`.
//!
//! Settings, chosen by measuring: `worker_threads(P)`; no I/O or time driver, which makes a yield
//! with an empty queue cheaper; link-time optimization; panic = abort. mimalloc, because glibc's
//! malloc is slow at the 128-byte alignment of a task: spawning costs twice as much with it.
//! async-channel 1.9, because 2.5 takes twice as long per message.
//!
//! Where the work differs from the others': tokio has no rendezvous channel, so capacity 0 becomes
//! a `tokio::sync::mpsc` of capacity 1, where a send returns before anyone has received. Channels
//! with several receivers, and the one that a crowd parks on, are async-channel's. Tasks have no
//! stack.

mod channels;
mod classic;
mod measurement;
mod tasks;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

use measurement::{parse_arguments, Arguments, Measurement};

async fn run(arguments: Arguments) -> Option<Measurement> {
    Some(match arguments.workload.as_str() {
        "yield" => tasks::run_yield(&arguments).await,
        "spawn_join" => tasks::run_spawn_join(&arguments).await,
        "spawn_batch" => tasks::run_spawn_batch(&arguments).await,
        "spawn_block" => tasks::run_spawn_block(&arguments).await,
        "mutex" => tasks::run_mutex(&arguments).await,
        "pingpong" => channels::run_pingpong(&arguments).await,
        "mpmc" if arguments.k == 1 => channels::run_stream(&arguments).await,
        "mpmc" => channels::run_mpmc(&arguments).await,
        "sieve" => classic::run_sieve(&arguments).await,
        "ring" => classic::run_ring(&arguments).await,
        "skynet" => classic::run_skynet(&arguments).await,
        _ => return None,
    })
}

fn main() {
    let arguments = parse_arguments();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(arguments.p).build().expect("a runtime");
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
