//! Waiting for one of several channels: tokio::select!, and select_all of futures-util where their number is known at run time.

use crate::channels::channel;
use crate::measurement::{check, Arguments, Measurement};
use crate::numbers::WaitGroup;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::mpsc;

const BATCH: usize = 128;

/// N selects among four channels of which one has values: 128 of them, then the next channel has. Filling is not timed.
pub async fn run_select_ready(a: &Arguments) -> Measurement {
    let (senders, mut receivers): (Vec<_>, Vec<_>) = (0..4).map(|_| channel(BATCH)).unzip();
    let [c0, c1, c2, c3] = &mut receivers[..] else { unreachable!() };
    let batches = (a.n / BATCH + 1) as i64;
    let mut sums = [0; 4];
    let mut elapsed = Duration::ZERO;
    for batch in -batches / 10..batches {
        if batch == 0 {
            elapsed = Duration::ZERO;
            sums = [0; 4];
        }
        let ready = &senders[(batch & 3) as usize];
        for _ in 0..BATCH {
            ready.try_send(1).unwrap();
        }
        let begin = Instant::now();
        for _ in 0..BATCH {
            tokio::select! {
                Some(value) = c0.recv() => sums[0] += value,
                Some(value) = c1.recv() => sums[1] += value,
                Some(value) = c2.recv() => sums[2] += value,
                Some(value) = c3.recv() => sums[3] += value,
            }
        }
        elapsed += begin.elapsed();
    }
    for (i, sum) in sums.into_iter().enumerate() {
        let turns = (batches as usize + 3 - i) / 4;
        check(sum == (turns * BATCH) as u64, "select_ready: what each channel carried");
    }
    Measurement::per_op(elapsed, batches as usize * BATCH)
}

/// A producer sends N values to four channels in turn; the consumer selects among them.
pub async fn run_select_block(a: &Arguments) -> Measurement {
    async fn transfer(messages: u64) -> Duration {
        let (senders, mut receivers): (Vec<_>, Vec<_>) = (0..4).map(|_| channel(0)).unzip();
        let [c0, c1, c2, c3] = &mut receivers[..] else { unreachable!() };
        let mut sums = [0; 4];
        let begin = Instant::now();
        let producer = tokio::spawn(async move {
            for i in (0..messages).step_by(4) {
                for (j, sender) in senders.iter().enumerate() {
                    sender.send(i + j as u64).await.unwrap();
                }
            }
            senders // Not dropped: a closed channel would be ready.
        });
        for _ in 0..messages {
            tokio::select! {
                Some(value) = c0.recv() => sums[0] += value,
                Some(value) = c1.recv() => sums[1] += value,
                Some(value) = c2.recv() => sums[2] += value,
                Some(value) = c3.recv() => sums[3] += value,
            }
        }
        drop(producer.await.unwrap());
        let elapsed = begin.elapsed();
        let turns = messages / 4;
        for (i, sum) in sums.into_iter().enumerate() {
            let expected = 4 * (turns * (turns - 1) / 2) + i as u64 * turns;
            check(sum == expected, "select_block: what each channel carried");
        }
        elapsed
    }
    transfer(a.n as u64 / 40 * 4 + 4).await;
    let elapsed = transfer(a.n as u64 / 4 * 4).await;
    Measurement::per_op(elapsed, a.n / 4 * 4)
}

/// N selects that find nothing ready and take the way out; K cases, 1 or 4.
pub async fn run_select_default(a: &Arguments) -> Measurement {
    check(a.k == 1 || a.k == 4, "select_default: k is 1 or 4");
    let (_senders, mut receivers): (Vec<_>, Vec<_>) = (0..4).map(|_| channel(0)).unzip();
    let [c0, c1, c2, c3] = &mut receivers[..] else { unreachable!() };
    let never = || check(false, "select_default: a value that no task sent");
    let mut nothing = 0;
    let begin = Instant::now();
    if a.k == 1 {
        for _ in 0..a.n {
            tokio::select! {
                biased;
                _ = c0.recv() => never(),
                _ = std::future::ready(()) => nothing += 1,
            }
        }
    } else {
        for _ in 0..a.n {
            tokio::select! {
                biased;
                _ = c0.recv() => never(),
                _ = c1.recv() => never(),
                _ = c2.recv() => never(),
                _ = c3.recv() => never(),
                _ = std::future::ready(()) => nothing += 1,
            }
        }
    }
    let elapsed = begin.elapsed();
    check(nothing == a.n, "select_default: every select took the default");
    Measurement::per_op(elapsed, a.n)
}

/// Two tasks exchange N values, one selecting among sends to sixteen channels, the other among receives from the same.
pub async fn run_select_meet(a: &Arguments) -> Measurement {
    async fn meet(times: u64) -> Duration {
        let (s, mut r): (Vec<_>, Vec<_>) = (0..16).map(|_| channel(0)).unzip();
        let begin = Instant::now();
        let sender = tokio::spawn(async move {
            for i in 0..times {
                let permit = tokio::select! {
                    permit = s[0].reserve() => permit,
                    permit = s[1].reserve() => permit,
                    permit = s[2].reserve() => permit,
                    permit = s[3].reserve() => permit,
                    permit = s[4].reserve() => permit,
                    permit = s[5].reserve() => permit,
                    permit = s[6].reserve() => permit,
                    permit = s[7].reserve() => permit,
                    permit = s[8].reserve() => permit,
                    permit = s[9].reserve() => permit,
                    permit = s[10].reserve() => permit,
                    permit = s[11].reserve() => permit,
                    permit = s[12].reserve() => permit,
                    permit = s[13].reserve() => permit,
                    permit = s[14].reserve() => permit,
                    permit = s[15].reserve() => permit,
                };
                permit.unwrap().send(i);
            }
            s // Not dropped: a closed channel would be ready.
        });
        let receiver = tokio::spawn(async move {
            let [r0, r1, r2, r3, r4, r5, r6, r7, r8, r9, r10, r11, r12, r13, r14, r15] = &mut r[..] else {
                unreachable!()
            };
            let mut sum = 0;
            for _ in 0..times {
                let value = tokio::select! {
                    value = r0.recv() => value,
                    value = r1.recv() => value,
                    value = r2.recv() => value,
                    value = r3.recv() => value,
                    value = r4.recv() => value,
                    value = r5.recv() => value,
                    value = r6.recv() => value,
                    value = r7.recv() => value,
                    value = r8.recv() => value,
                    value = r9.recv() => value,
                    value = r10.recv() => value,
                    value = r11.recv() => value,
                    value = r12.recv() => value,
                    value = r13.recv() => value,
                    value = r14.recv() => value,
                    value = r15.recv() => value,
                };
                sum += value.unwrap();
            }
            sum
        });
        let senders = sender.await.unwrap();
        let sum: u64 = receiver.await.unwrap();
        let elapsed = begin.elapsed();
        drop(senders);
        check(sum == times * (times - 1) / 2, "select_meet: the sum of the messages");
        elapsed
    }
    meet(a.n as u64 / 10 + 1).await;
    let elapsed = meet(a.n as u64).await;
    Measurement::per_op(elapsed, a.n)
}

/// N selects among K channels, a number known at run time, of which one has values: 128 of them, then the next channel has. The
/// futures that were not ready are kept for the next select.
pub async fn run_select_width(a: &Arguments) -> Measurement {
    let width = a.k;
    let batches = a.n / BATCH + 1;
    let (senders, receivers): (Vec<_>, Vec<_>) = (0..width).map(|_| async_channel::bounded::<u64>(BATCH)).unzip();
    let receive = |from: usize| {
        let receiver = &receivers[from];
        Box::pin(async move { (receiver.recv().await, from) })
    };
    let mut waiting: Vec<_> = (0..width).map(receive).collect();
    let (mut sum, mut expected) = (0, 0);
    let mut elapsed = Duration::ZERO;
    for batch in 0..batches + batches / 10 {
        if batch == batches / 10 {
            elapsed = Duration::ZERO;
        }
        let ready = &senders[batch % width];
        for _ in 0..BATCH {
            ready.try_send(batch as u64).unwrap();
        }
        expected += (BATCH * batch) as u64;
        let begin = Instant::now();
        for _ in 0..BATCH {
            let ((value, from), _, rest) = futures_util::future::select_all(waiting).await;
            sum += value.unwrap();
            waiting = rest;
            waiting.push(receive(from));
        }
        elapsed += begin.elapsed();
    }
    check(sum == expected, "select_width: the sum of the messages");
    let mut result = Measurement::per_op(elapsed, batches * BATCH);
    result.add_per_op("case_ns", elapsed, batches * BATCH * width);
    result
}

/// A task waits on two channels, N times over. K others wait on the first, for ever; the second always has the value.
pub async fn run_withdraw(a: &Arguments) -> Measurement {
    async fn play(call: &mpsc::Sender<u64>, answers: &mut mpsc::Receiver<u64>, turns: u64) {
        for i in 0..turns {
            call.send(i).await.unwrap();
            check(answers.recv().await == Some(i + 1), "withdraw: the answer to what was sent");
        }
    }
    let tasks = a.k;
    let (crowd, crowded) = async_channel::bounded::<u64>(1);
    let (call, mut calls) = channel(0);
    let (answer, mut answers) = channel(0);
    let (parked, done) = (Arc::new(WaitGroup::new(tasks)), Arc::new(WaitGroup::new(tasks)));
    for _ in 0..tasks {
        let (crowded, parked, done) = (crowded.clone(), parked.clone(), done.clone());
        tokio::spawn(async move {
            parked.done();
            check(crowded.recv().await.is_err(), "withdraw: nothing comes by the crowded channel");
            done.done();
        });
    }
    parked.wait().await;
    let player = tokio::spawn(async move {
        loop {
            let value = tokio::select! {
                _ = crowded.recv() => {
                    check(false, "withdraw: nothing comes by the crowded channel");
                    None
                }
                value = calls.recv() => value,
            };
            let Some(value) = value else { return };
            answer.send(value + 1).await.unwrap();
        }
    });
    play(&call, &mut answers, a.n as u64 / 10 + 1).await;
    let begin = Instant::now();
    play(&call, &mut answers, a.n as u64).await;
    let elapsed = begin.elapsed();
    drop(call);
    player.await.unwrap();
    crowd.close();
    done.wait().await;
    Measurement::per_op(elapsed, a.n)
}
