// loom_bugs.rs: loom_bugs BUG: all orders with at most three preemptions.
use loom::sync::{Arc, Condvar, Mutex};
use loom::thread;

include!("../bugs.rs");

fn main() {
    report(|bug| {
        let mut builder = loom::model::Builder::new();
        builder.preemption_bound = Some(3);
        builder.max_branches = 100_000;
        builder.check(move || counted(bug));
    });
}
