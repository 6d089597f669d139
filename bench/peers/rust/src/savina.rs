//! Programs by which actor libraries are measured. An actor is a task with a mailbox. A channel of tokio closes when its senders are
//! gone; where actors know one another that is never, and a letter tells them to stop.

use crate::channels::channel;
use crate::measurement::{check, Arguments, Measurement};
use crate::numbers::{hash_over, random_below, WaitGroup};
use std::collections::VecDeque;
use std::future::Future;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::mpsc;

const MAILBOX_SIZE: usize = 128;

enum Letter {
    Increment,
    Retrieve,
    Ping(usize, u64),
    Pong(u64),
    Offer(usize, u64),
    Ask(usize),
    Finished,
    Transfer(usize, i64),
    Deposit(usize, i64),
    Stop,
}

fn mailbox() -> (mpsc::Sender<Letter>, mpsc::Receiver<Letter>) {
    mpsc::channel(MAILBOX_SIZE)
}

/// Runs work twice, the first time to warm up, and reports the second.
async fn time_program<F: Future<Output = Duration>>(a: &Arguments, work: impl Fn(usize) -> F) -> Measurement {
    work(a.n).await;
    let elapsed = work(a.n).await;
    let mut result = Measurement::per_op(elapsed, a.n);
    result.add("ms", elapsed.as_nanos() as f64 / 1e6);
    result
}

/// One actor counts N letters and answers how many there were.
pub async fn run_count(a: &Arguments) -> Measurement {
    time_program(a, |letters| async move {
        let begin = Instant::now();
        let (counter, mut received) = mailbox();
        let (answer, mut answers) = channel(0);
        let actor = tokio::spawn(async move {
            let mut count = 0;
            while let Some(letter) = received.recv().await {
                match letter {
                    Letter::Increment => count += 1,
                    _ => answer.send(count).await.unwrap(),
                }
            }
        });
        for _ in 0..letters {
            counter.send(Letter::Increment).await.ok().unwrap();
        }
        counter.send(Letter::Retrieve).await.ok().unwrap();
        check(answers.recv().await == Some(letters as u64), "savina_count: the count");
        drop(counter);
        actor.await.unwrap();
        begin.elapsed()
    })
    .await
}

/// N actors are made; each computes for a moment and ends.
pub async fn run_fjcreate(a: &Arguments) -> Measurement {
    const STEPS: usize = 40;
    time_program(a, |actors| async move {
        let begin = Instant::now();
        let sum = Arc::new(AtomicU64::new(0));
        let done = Arc::new(WaitGroup::new(actors));
        for i in 0..actors {
            let (sum, done) = (sum.clone(), done.clone());
            tokio::spawn(async move {
                sum.fetch_add(hash_over(i as u64, STEPS), Ordering::Relaxed);
                done.done();
            });
        }
        done.wait().await;
        let elapsed = begin.elapsed();
        let expected = (0..actors).fold(0u64, |sum, i| sum.wrapping_add(hash_over(i as u64, STEPS)));
        check(sum.load(Ordering::SeqCst) == expected, "savina_fjcreate: what all computed");
        elapsed
    })
    .await
}

async fn send_ping(boxes: &[mpsc::Sender<Letter>], me: usize, turn: u64) {
    let other = random_below((me as u64) << 32 | turn, boxes.len() as u64 - 1) as usize;
    let other = if other < me { other } else { other + 1 };
    boxes[other].send(Letter::Ping(me, turn)).await.ok().unwrap();
}

/// K actors; each sends a ping to another, drawn at random, and answers others' pings until its pong comes; N pings altogether.
pub async fn run_big(a: &Arguments) -> Measurement {
    let actors = a.k;
    check((2..MAILBOX_SIZE).contains(&actors), "savina_big: from 2 to 127 actors");
    time_program(a, |pings| async move {
        let each = (pings / actors) as u64;
        let begin = Instant::now();
        let (boxes, receivers): (Vec<_>, Vec<_>) = (0..actors).map(|_| mailbox()).unzip();
        let boxes = Arc::new(boxes);
        let played = Arc::new(WaitGroup::new(actors));
        let mut joins = Vec::with_capacity(actors);
        for (me, mut received) in receivers.into_iter().enumerate() {
            let (boxes, played) = (boxes.clone(), played.clone());
            joins.push(tokio::spawn(async move {
                let (mut sent, mut mine) = (0, 0);
                send_ping(&boxes, me, sent).await;
                sent += 1;
                loop {
                    match received.recv().await.unwrap() {
                        Letter::Ping(from, turn) => {
                            mine += 1;
                            boxes[from].send(Letter::Pong(turn)).await.ok().unwrap();
                        }
                        Letter::Pong(turn) => {
                            check(turn == sent - 1, "savina_big: the answer to the latest ping");
                            if sent < each {
                                send_ping(&boxes, me, sent).await;
                                sent += 1;
                            } else {
                                played.done();
                            }
                        }
                        _ => return mine,
                    }
                }
            }));
        }
        played.wait().await;
        for sender in boxes.iter() {
            sender.send(Letter::Stop).await.ok().unwrap();
        }
        let mut answered: u64 = 0;
        for join in joins {
            answered += join.await.unwrap();
        }
        check(answered == each * actors as u64, "savina_big: every ping was answered once");
        begin.elapsed()
    })
    .await
}

const BUFFER_STEPS: usize = 25;
const ITEM_MASK: u64 = 0xffff;
const BUFFER_ROOM: usize = 50;

fn item_of(me: usize, i: u64) -> u64 {
    hash_over((me as u64) << 32 | i, BUFFER_STEPS) & ITEM_MASK
}

fn consumed(item: u64) -> u64 {
    item + (hash_over(item, BUFFER_STEPS) & 1)
}

/// The manager between K producers and K consumers keeps up to 50 items. Dropping its senders ends the consumers.
async fn manage(pairs: usize, mut manager: mpsc::Receiver<Letter>, workers: Vec<mpsc::Sender<u64>>) {
    let mut producing = pairs;
    let (mut items, mut held, mut waiting) = (VecDeque::new(), VecDeque::new(), Vec::new());
    while producing > 0 || !items.is_empty() || waiting.len() < pairs {
        match manager.recv().await.unwrap() {
            Letter::Offer(from, item) => {
                items.push_back(item);
                held.push_back(from);
            }
            Letter::Ask(from) => waiting.push(from),
            _ => producing -= 1,
        }
        while !items.is_empty() && !waiting.is_empty() {
            let consumer: usize = waiting.pop().unwrap();
            workers[consumer].send(items.pop_front().unwrap()).await.unwrap();
        }
        while !held.is_empty() && items.len() <= BUFFER_ROOM {
            workers[held.pop_front().unwrap()].send(0).await.unwrap();
        }
    }
}

/// N items from K producers through the manager to K consumers. Each item costs both sides a moment.
pub async fn run_bndbuffer(a: &Arguments) -> Measurement {
    let pairs = a.k;
    check(2 * pairs < MAILBOX_SIZE, "savina_bndbuffer: at most 63 producers");
    time_program(a, |all_items| async move {
        let items = (all_items / pairs) as u64;
        let begin = Instant::now();
        let (manager, offers) = mailbox();
        let (workers, receivers): (Vec<_>, Vec<_>) = (0..2 * pairs).map(|_| mpsc::channel::<u64>(2)).unzip();
        let mut receivers = receivers.into_iter().enumerate();
        let mut joins = Vec::with_capacity(2 * pairs);
        for (me, mut go_on) in receivers.by_ref().take(pairs) {
            let manager = manager.clone();
            joins.push(tokio::spawn(async move {
                for i in 0..items {
                    manager.send(Letter::Offer(me, item_of(me, i))).await.ok().unwrap();
                    check(go_on.recv().await.is_some(), "savina_bndbuffer: the manager answers a producer");
                }
                manager.send(Letter::Finished).await.ok().unwrap();
                0
            }));
        }
        for (me, mut received) in receivers {
            let manager = manager.clone();
            joins.push(tokio::spawn(async move {
                let mut sum = 0;
                loop {
                    manager.send(Letter::Ask(me)).await.ok().unwrap();
                    match received.recv().await {
                        Some(item) => sum += consumed(item),
                        None => return sum,
                    }
                }
            }));
        }
        manage(pairs, offers, workers).await;
        let mut sum: u64 = 0;
        for join in joins {
            sum += join.await.unwrap();
        }
        let elapsed = begin.elapsed();
        let expected = (0..pairs).flat_map(|me| (0..items).map(move |i| consumed(item_of(me, i)))).sum();
        check(sum == expected, "savina_bndbuffer: every item was consumed once");
        elapsed
    })
    .await
}

/// K accounts; N transfers from one to a later one, 64 of them under way at once.
pub async fn run_banking(a: &Arguments) -> Measurement {
    const UNDER_WAY: u64 = 64;
    let accounts = a.k;
    check(accounts >= 2, "savina_banking needs two accounts");
    time_program(a, |transfers| async move {
        let begin = Instant::now();
        let (boxes, receivers): (Vec<_>, Vec<_>) = (0..accounts).map(|_| mailbox()).unzip();
        let (answers, answered): (Vec<_>, Vec<_>) = (0..accounts).map(|_| mpsc::channel::<()>(2)).unzip();
        let (boxes, answers) = (Arc::new(boxes), Arc::new(answers));
        let (teller, mut completed) = mpsc::channel::<()>(MAILBOX_SIZE);
        let mut joins = Vec::with_capacity(accounts);
        for (me, (mut received, mut paid)) in receivers.into_iter().zip(answered).enumerate() {
            let (boxes, answers, teller) = (boxes.clone(), answers.clone(), teller.clone());
            joins.push(tokio::spawn(async move {
                let mut balance = 0;
                loop {
                    match received.recv().await.unwrap() {
                        Letter::Deposit(from, amount) => {
                            balance += amount;
                            answers[from].send(()).await.unwrap();
                        }
                        Letter::Transfer(payee, amount) => {
                            balance -= amount;
                            boxes[payee].send(Letter::Deposit(me, amount)).await.ok().unwrap();
                            paid.recv().await.unwrap();
                            teller.send(()).await.unwrap();
                        }
                        _ => return balance,
                    }
                }
            }));
        }

        let mut expected = vec![0; accounts];
        let transfers = transfers as u64;
        for i in 0..transfers + UNDER_WAY {
            if i >= UNDER_WAY {
                completed.recv().await.unwrap();
            }
            if i >= transfers {
                continue;
            }
            let payer = random_below(2 * i, accounts as u64 - 1) as usize;
            let payee = payer + 1 + random_below(2 * i + 1, (accounts - payer - 1) as u64) as usize;
            let amount = (i % 100) as i64;
            expected[payer] -= amount;
            expected[payee] += amount;
            boxes[payer].send(Letter::Transfer(payee, amount)).await.ok().unwrap();
        }
        for sender in boxes.iter() {
            sender.send(Letter::Stop).await.ok().unwrap();
        }
        let mut balances = Vec::with_capacity(accounts);
        for join in joins {
            balances.push(join.await.unwrap());
        }
        let elapsed = begin.elapsed();
        check(balances == expected, "savina_banking: the balance of every account");
        elapsed
    })
    .await
}
