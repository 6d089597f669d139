//! What the servers have in common: how they are called, what they say, and when they end.

use std::io::Read;
use std::process::exit;

pub struct Options {
    pub serves: String,
    pub p: usize,
    pub buffer: usize,
    pub unix_path: Option<String>,
}

pub fn fail(what: &str) -> ! {
    eprintln!("servers: {what}");
    exit(1)
}

pub fn parse_options() -> Options {
    let words: Vec<String> = std::env::args().collect();
    if words.len() < 2 || words.len() % 2 != 0 {
        fail("usage: echo|http --p P --listen tcp|unix:PATH [--buffer BYTES]");
    }
    let mut options = Options { serves: words[1].clone(), p: 1, buffer: 8192, unix_path: None };
    for pair in words[2..].chunks(2) {
        let number = || pair[1].parse().unwrap_or_else(|_| fail("a number is wanted"));
        match pair[0].as_str() {
            "--p" => options.p = number(),
            "--buffer" => options.buffer = number(),
            "--listen" => options.unix_path = pair[1].strip_prefix("unix:").map(String::from),
            _ => fail("no such option"),
        }
    }
    options
}

/// Says where the server is, and has the process end with its standard input.
pub fn announce(address: &str) {
    println!("{{\"peer\":\"tokio\",\"version\":\"{}\",\"address\":\"{address}\"}}", env!("VERSIONS"));
    std::thread::spawn(|| {
        let _ = std::io::copy(&mut std::io::stdin().by_ref(), &mut std::io::sink());
        exit(0)
    });
}
