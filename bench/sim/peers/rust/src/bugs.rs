// bugs.rs: the five bugs of ../../bugs.h. The file that includes it names the types of its library.

fn lost_update() {
    let x = Arc::new(Mutex::new(0));
    let threads: Vec<_> = (0..2)
        .map(|_| {
            let x = x.clone();
            thread::spawn(move || {
                let seen = *x.lock().unwrap();
                *x.lock().unwrap() = seen + 1;
            })
        })
        .collect();
    for t in threads {
        t.join().unwrap();
    }
    assert_eq!(*x.lock().unwrap(), 2, "an addition was lost");
}

fn inverted_locks() {
    let a = Arc::new(Mutex::new(()));
    let b = Arc::new(Mutex::new(()));
    let (a2, b2) = (a.clone(), b.clone());
    let one = thread::spawn(move || {
        let _first = a.lock().unwrap();
        let _second = b.lock().unwrap();
    });
    let two = thread::spawn(move || {
        let _first = b2.lock().unwrap();
        let _second = a2.lock().unwrap();
    });
    one.join().unwrap();
    two.join().unwrap();
}

fn lost_wakeup() {
    let shared = Arc::new((Mutex::new(false), Condvar::new()));
    let other = shared.clone();
    let one = thread::spawn(move || {
        let seen = *other.0.lock().unwrap();
        if !seen {
            let held = other.0.lock().unwrap();
            let _held = other.1.wait(held).unwrap();
        }
    });
    {
        let mut done = shared.0.lock().unwrap();
        *done = true;
        shared.1.notify_all();
    }
    one.join().unwrap();
}

fn notified_the_wrong_one() {
    let shared = Arc::new((Mutex::new(0), Condvar::new()));
    let mut all = Vec::new();
    for full in [1, 0, 1, 0] {
        let shared = shared.clone();
        all.push(thread::spawn(move || {
            for _ in 0..2 {
                let mut items = shared.0.lock().unwrap();
                while *items == full {
                    items = shared.1.wait(items).unwrap();
                }
                *items = 1 - *items;
                shared.1.notify_one();
            }
        }));
    }
    for t in all {
        t.join().unwrap();
    }
}

fn meet(shared: &(Mutex<i32>, Condvar)) {
    let mut arrived = shared.0.lock().unwrap();
    *arrived += 1;
    if *arrived == 2 {
        *arrived = 0;
        shared.1.notify_all();
        return;
    }
    while *arrived != 0 {
        arrived = shared.1.wait(arrived).unwrap();
    }
}

fn barrier_without_phases() {
    let shared = Arc::new((Mutex::new(0), Condvar::new()));
    let both: Vec<_> = (0..2)
        .map(|_| {
            let shared = shared.clone();
            thread::spawn(move || {
                meet(&shared);
                meet(&shared);
            })
        })
        .collect();
    for t in both {
        t.join().unwrap();
    }
}

const BUGS: [(&str, fn()); 5] = [
    ("lost_update", lost_update),
    ("inverted_locks", inverted_locks),
    ("lost_wakeup", lost_wakeup),
    ("notified_the_wrong_one", notified_the_wrong_one),
    ("barrier_without_phases", barrier_without_phases),
];

static RUNS: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);

// Explores the bug that is named first among the arguments. The first panic is what was looked for:
// afterwards the libraries may abort the process.
fn report(explore: impl Fn(fn())) {
    let name = std::env::args().nth(1).expect("the name of a bug");
    let (_, bug) = *BUGS.iter().find(|b| b.0 == name).expect("a known bug");
    let began = std::time::Instant::now();
    std::panic::set_hook(Box::new(move |_| {
        let took = began.elapsed().as_secs_f64() * 1000.0;
        println!("{name} {} {took:.3}", RUNS.load(std::sync::atomic::Ordering::Relaxed));
        std::process::exit(0);
    }));
    explore(bug);
    println!("{} not_found", std::env::args().nth(1).unwrap());
}

fn counted(bug: fn()) {
    RUNS.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    bug();
}
