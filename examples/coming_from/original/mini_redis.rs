// mini_redis.rs: a small server in the manner of Redis, with tokio. Commands: SET key value,
// GET key, DEL key. A client that is silent for too long is disconnected; when the server stops, all
// are. Dependencies: tokio = { version = "1", features = ["full"] }
use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{self, AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, oneshot, watch, Semaphore};
use tokio::task::JoinSet;
use tokio::time::sleep;

const MOST_CLIENTS: usize = 100;

struct Request {
    line: String,
    answer: oneshot::Sender<String>,
}

// Owns the values.
async fn store(mut inbox: mpsc::Receiver<Request>) {
    let mut values: HashMap<String, String> = HashMap::new();
    while let Some(request) = inbox.recv().await {
        let words: Vec<&str> = request.line.split_whitespace().collect();
        let answer = match words[..] {
            ["SET", key, value] => {
                values.insert(key.to_string(), value.to_string());
                "OK".to_string()
            }
            ["GET", key] => values.get(key).cloned().unwrap_or("(nil)".to_string()),
            ["DEL", key] => format!("{}", values.remove(key).is_some() as i32),
            _ => "ERR unknown command".to_string(),
        };
        let _ = request.answer.send(answer);
    }
}

async fn serve(
    mut socket: TcpStream,
    store: mpsc::Sender<Request>,
    mut stop: watch::Receiver<bool>,
    idle: Duration,
) -> io::Result<()> {
    let (reader, mut writer) = socket.split();
    let mut lines = BufReader::new(reader).lines();
    loop {
        let line = tokio::select! {
            line = lines.next_line() => match line? {
                Some(line) => line,
                None => return Ok(()),
            },
            _ = sleep(idle) => return writer.write_all(b"ERR idle for too long\n").await,
            _ = stop.changed() => return writer.write_all(b"ERR the server stops\n").await,
        };
        let (sender, receiver) = oneshot::channel();
        if store.send(Request { line, answer: sender }).await.is_err() {
            return Ok(());
        }
        if let Ok(answer) = receiver.await {
            writer.write_all(format!("{answer}\n").as_bytes()).await?;
        }
    }
}

async fn run(listener: TcpListener, mut stop: watch::Receiver<bool>, idle: Duration) {
    let (to_store, inbox) = mpsc::channel(16);
    let store = tokio::spawn(store(inbox));
    let places = Arc::new(Semaphore::new(MOST_CLIENTS));
    let mut clients = JoinSet::new();
    loop {
        let place = places.clone().acquire_owned().await.unwrap();
        let socket = tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((socket, _)) => socket,
                Err(_) => continue,
            },
            _ = stop.changed() => break,
        };
        let (to_store, stop) = (to_store.clone(), stop.clone());
        clients.spawn(async move {
            let _ = serve(socket, to_store, stop, idle).await; // an error: the client has gone
            drop(place);
        });
    }
    while clients.join_next().await.is_some() {}
    drop(to_store);
    let _ = store.await;
}

// For the demonstration.
async fn ask(socket: &mut BufReader<TcpStream>, command: &str) -> String {
    if !command.is_empty() {
        socket.write_all(format!("{command}\n").as_bytes()).await.unwrap();
    }
    let mut answer = String::new();
    socket.read_line(&mut answer).await.unwrap();
    answer.trim_end().to_string()
}

async fn connect(address: SocketAddr) -> BufReader<TcpStream> {
    BufReader::new(TcpStream::connect(address).await.unwrap())
}

async fn start(idle: Duration) -> (SocketAddr, watch::Sender<bool>, tokio::task::JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (stop, stopped) = watch::channel(false);
    (address, stop, tokio::spawn(run(listener, stopped, idle)))
}

#[tokio::main]
async fn main() {
    let (address, stop, server) = start(Duration::from_secs(10)).await;
    let mut anna = connect(address).await;
    let mut ben = connect(address).await;
    println!("anna: {}", ask(&mut anna, "SET drink tea").await);
    println!("ben:  {}", ask(&mut ben, "GET drink").await);
    println!("ben:  {}", ask(&mut ben, "DEL drink").await);
    println!("anna: {}", ask(&mut anna, "GET drink").await);
    println!("anna: {}", ask(&mut anna, "PUSH drink").await);
    stop.send(true).unwrap();
    println!("anna: {}", ask(&mut anna, "").await);
    println!("ben:  {}", ask(&mut ben, "").await);
    server.await.unwrap();

    let (address, stop, server) = start(Duration::from_millis(20)).await;
    let mut silent = connect(address).await;
    println!("carol: {}", ask(&mut silent, "").await);
    stop.send(true).unwrap();
    server.await.unwrap();
}
