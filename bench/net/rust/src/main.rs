//! The servers over tokio, called as `bench/net/server/server_options.h` says: a task for each connection, on the multi-threaded
//! runtime with P workers, with its I/O driver and mimalloc. HTTP is hyper's.

mod echo;
mod http;
mod server;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() {
    let options = server::parse_options();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(options.p)
        .enable_io()
        .enable_time()
        .build()
        .expect("a runtime");
    // The thread of main is not a worker: what accepts is a task, too.
    let served = runtime.block_on(async {
        match options.serves.as_str() {
            "echo" => tokio::spawn(echo::serve(options)).await,
            "http" => tokio::spawn(http::serve(options)).await,
            _ => server::fail("there is echo, and http"),
        }
    });
    if let Err(error) = served.expect("it is not cancelled") {
        server::fail(&error.to_string());
    }
}
