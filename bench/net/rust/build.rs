// Tells the program the versions it is built from: those in Cargo.lock, and the compiler's.
use std::process::Command;
use std::{env, fs};

fn locked_version(lock: &str, package: &str) -> String {
    let name = format!("name = \"{package}\"");
    let mut lines = lock.lines().skip_while(|line| *line != name);
    let version = lines.nth(1).unwrap_or("version = \"?\"");
    version.trim_start_matches("version = ").trim_matches('"').to_string()
}

fn main() {
    println!("cargo:rerun-if-changed=Cargo.lock");
    let lock = fs::read_to_string("Cargo.lock").unwrap_or_default();
    let rustc = Command::new(env::var("RUSTC").unwrap()).arg("--version").output().unwrap();
    let rustc = String::from_utf8_lossy(&rustc.stdout);
    println!(
        "cargo:rustc-env=VERSIONS=tokio {}, hyper {}, mimalloc {}, rustc {}",
        locked_version(&lock, "tokio"),
        locked_version(&lock, "hyper"),
        locked_version(&lock, "mimalloc"),
        rustc.split_whitespace().nth(1).unwrap_or("?"),
    );
}
