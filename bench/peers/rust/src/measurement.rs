//! The command line, the process's memory, and the JSON line a repetition prints.

use std::time::Duration;

#[derive(Clone)]
pub struct Arguments {
    pub workload: String,
    pub p: usize,
    pub n: usize,
    pub k: usize,
    pub cap: usize,
    pub reps: usize,
}

fn usage() -> ! {
    eprintln!("usage: tokio_bench WORKLOAD --p P --n N [--k K] [--cap C] [--reps R]");
    std::process::exit(2);
}

pub fn parse_arguments() -> Arguments {
    let mut words = std::env::args().skip(1);
    let workload = words.next().unwrap_or_else(|| usage());
    let mut arguments = Arguments { workload, p: 1, n: 1_000_000, k: 1, cap: 0, reps: 1 };
    while let Some(name) = words.next() {
        let value = words.next().and_then(|text| text.parse().ok()).unwrap_or_else(|| usage());
        match name.as_str() {
            "--p" => arguments.p = value,
            "--n" => arguments.n = value,
            "--k" => arguments.k = value,
            "--cap" => arguments.cap = value,
            "--reps" => arguments.reps = value,
            _ => usage(),
        }
    }
    if arguments.p == 0 || arguments.n == 0 || arguments.k == 0 || arguments.reps == 0 {
        usage();
    }
    arguments
}

/// Ends the process when the work that was timed was not the work that was asked for.
pub fn check(ok: bool, what: &str) {
    if !ok {
        eprintln!("bench: wrong result: {what}");
        std::process::exit(1);
    }
}

#[derive(Clone, Copy, Default)]
pub struct Memory {
    pub resident: f64,
    pub page_table: f64,
    pub peak: f64,
}

pub fn read_memory() -> Memory {
    let mut memory = Memory::default();
    for line in std::fs::read_to_string("/proc/self/status").unwrap_or_default().lines() {
        let mut fields = line.split_whitespace();
        let name = fields.next().unwrap_or_default();
        let kib: f64 = fields.next().and_then(|text| text.parse().ok()).unwrap_or_default();
        let bytes = kib * 1024.0;
        match name {
            "VmRSS:" => memory.resident = bytes,
            "VmPTE:" => memory.page_table = bytes,
            "VmHWM:" => memory.peak = bytes,
            _ => {}
        }
    }
    memory
}

/// The metrics of one repetition, printed as one flat JSON object.
#[derive(Default)]
pub struct Measurement(String);

impl Measurement {
    pub fn per_op(total: Duration, operations: usize) -> Self {
        let mut result = Self::default();
        result.add_per_op("ns_per_op", total, operations);
        result
    }

    pub fn add(&mut self, name: &str, value: f64) {
        self.0 += &format!(",\"{name}\":{value:.3}");
    }

    pub fn add_per_op(&mut self, name: &str, total: Duration, operations: usize) {
        self.add(name, total.as_nanos() as f64 / operations as f64);
    }

    pub fn print(&self, a: &Arguments) {
        println!(
            "{{\"peer\":\"tokio\",\"workload\":\"{}\",\"p\":{},\"n\":{},\"k\":{},\"cap\":{},\"version\":\"{}\"{}}}",
            a.workload,
            a.p,
            a.n,
            a.k,
            a.cap,
            env!("BENCH_VERSION"),
            self.0
        );
    }
}
