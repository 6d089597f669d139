//! Two tasks, or many, and the channels between them.

use crate::measurement::{check, Arguments, Measurement};
use std::time::{Duration, Instant};
use tokio::sync::mpsc;

/// A channel of this capacity; of 1, the nearest there is, in place of 0.
pub fn channel(capacity: usize) -> (mpsc::Sender<u64>, mpsc::Receiver<u64>) {
    mpsc::channel(capacity.max(1))
}

/// Two tasks send one value to and fro, N round trips; the echo adds one.
pub async fn run_pingpong(a: &Arguments) -> Measurement {
    async fn play(capacity: usize, rounds: u64) -> Duration {
        let (ping, mut ping_receiver) = channel(capacity);
        let (pong, mut pong_receiver) = channel(capacity);
        let echo = tokio::spawn(async move {
            while let Some(value) = ping_receiver.recv().await {
                pong.send(value + 1).await.unwrap();
            }
        });
        let player = tokio::spawn(async move {
            let begin = Instant::now();
            for i in 0..rounds {
                ping.send(i).await.unwrap();
                check(pong_receiver.recv().await == Some(i + 1), "pingpong: the echo of what was sent");
            }
            begin.elapsed()
        });
        let elapsed = player.await.unwrap();
        echo.await.unwrap();
        elapsed
    }
    play(a.cap, a.n as u64 / 10 + 1).await;
    let elapsed = play(a.cap, a.n as u64).await;
    Measurement::per_op(elapsed, a.n)
}

fn check_sum(count: u64, sum: u64, total: u64) {
    check(count == total, "mpmc: every message arrives once");
    check(sum == total * (total - 1) / 2, "mpmc: the sum of the messages");
}

/// One producer, one consumer: tokio's own channel.
pub async fn run_stream(a: &Arguments) -> Measurement {
    async fn transfer(capacity: usize, messages: u64) -> Duration {
        let (sender, mut receiver) = channel(capacity);
        let begin = Instant::now();
        let consumer = tokio::spawn(async move {
            let (mut count, mut sum) = (0, 0);
            while let Some(value) = receiver.recv().await {
                sum += value;
                count += 1;
            }
            (count, sum)
        });
        let producer = tokio::spawn(async move {
            for value in 0..messages {
                sender.send(value).await.unwrap();
            }
        });
        producer.await.unwrap();
        let (count, sum) = consumer.await.unwrap();
        let elapsed = begin.elapsed();
        check_sum(count, sum, messages);
        elapsed
    }
    transfer(a.cap, a.n as u64 / 10 + 1).await;
    let elapsed = transfer(a.cap, a.n as u64).await;
    Measurement::per_op(elapsed, a.n)
}

/// K producers share N sends, K consumers share the receives: async-channel.
pub async fn run_mpmc(a: &Arguments) -> Measurement {
    async fn transfer(capacity: usize, pairs: u64, messages: u64) -> Duration {
        let each = messages / pairs;
        let (sender, receiver) = async_channel::bounded::<u64>(capacity.max(1));
        let begin = Instant::now();
        let mut consumers = Vec::new();
        for _ in 0..pairs {
            let receiver = receiver.clone();
            consumers.push(tokio::spawn(async move {
                let (mut count, mut sum) = (0, 0);
                while let Ok(value) = receiver.recv().await {
                    sum += value;
                    count += 1;
                }
                (count, sum)
            }));
        }
        let mut producers = Vec::new();
        for i in 0..pairs {
            let sender = sender.clone();
            producers.push(tokio::spawn(async move {
                for j in 0..each {
                    sender.send(i * each + j).await.unwrap();
                }
            }));
        }
        for producer in producers {
            producer.await.unwrap();
        }
        sender.close();
        let (mut count, mut sum) = (0, 0);
        for consumer in consumers {
            let (my_count, my_sum) = consumer.await.unwrap();
            count += my_count;
            sum += my_sum;
        }
        let elapsed = begin.elapsed();
        check_sum(count, sum, each * pairs);
        elapsed
    }
    transfer(a.cap, a.k as u64, (a.n / 10 + a.k) as u64).await;
    let elapsed = transfer(a.cap, a.k as u64, a.n as u64).await;
    Measurement::per_op(elapsed, a.n / a.k * a.k)
}
