// shuttle_bugs.rs: shuttle_bugs BUG SEED [pct]: the random scheduler, or PCT with depth 3.
use shuttle::scheduler::{PctScheduler, RandomScheduler};
use shuttle::sync::{Arc, Condvar, Mutex};
use shuttle::{thread, Config, Runner};

include!("../bugs.rs");

fn main() {
    let seed: u64 = std::env::args().nth(2).map_or(1, |text| text.parse().expect("SEED is a number"));
    let pct = std::env::args().nth(3).is_some();
    report(move |bug| {
        let mut config = Config::new();
        config.failure_persistence = shuttle::FailurePersistence::None;
        if pct {
            Runner::new(PctScheduler::new_from_seed(seed, 3, 1_000_000), config).run(move || counted(bug));
        } else {
            Runner::new(RandomScheduler::new_from_seed(seed, 1_000_000), config).run(move || counted(bug));
        }
    });
}
