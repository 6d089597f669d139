package main

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// The waker sends the time through a channel and parks; the two take turns on one P.
func runWakeSame(a arguments) measurement {
	latency := make(samples, 0, a.n)
	call := make(chan int64)
	answer := make(chan int64)
	var done sync.WaitGroup
	done.Add(1)
	go func() {
		for sent := range call {
			latency = append(latency, nowNs()-sent)
			answer <- 0
		}
		done.Done()
	}()
	for i := 0; i < a.n; i++ {
		call <- nowNs()
		<-answer
	}
	close(call)
	done.Wait()
	check(len(latency) == a.n, "wake_same: every call arrived")

	var m measurement
	latency.report(&m, "ns", 1)
	return m
}

// The waker works on for 200 µs, or until the other has run; so somebody else's P has to come for it.
func runWakeBusy(a arguments) measurement {
	const patienceNs = 200000
	pauseNs := int64(a.cap)
	latency := make(samples, 0, a.n)
	var answered int64
	call := make(chan int64, 2)
	var done sync.WaitGroup
	done.Add(1)
	go func() {
		for sent := range call {
			latency = append(latency, nowNs()-sent)
			atomic.AddInt64(&answered, 1)
		}
		done.Done()
	}()
	for i := int64(0); i < int64(a.n); i++ {
		spinFor(pauseNs)
		begin := nowNs()
		call <- begin
		for atomic.LoadInt64(&answered) <= i {
			if nowNs()-begin > patienceNs {
				runtime.Gosched()
			}
		}
	}
	close(call)
	done.Wait()
	check(len(latency) == a.n, "wake_busy: every call arrived")

	var m measurement
	latency.report(&m, "ns", 1)
	return m
}

// K tasks wait on a channel, which is closed; until the last of them runs. N/K rounds.
func runFanOut(a arguments) measurement {
	const settleNs = 20000
	tasks := int64(a.k)
	rounds := a.n / a.k
	check(rounds >= 1, "fan_out needs n >= k")
	untilLast := make(samples, 0, rounds)
	for round := 0; round < rounds; round++ {
		gate := make(chan int64)
		var parked, done sync.WaitGroup
		var arrived, running int64
		var end time.Time
		parked.Add(1)
		done.Add(a.k)
		for i := 0; i < a.k; i++ {
			go func() {
				if atomic.AddInt64(&arrived, 1) == tasks {
					parked.Done()
				}
				_, carried := <-gate
				check(!carried, "fan_out: the gate carries nothing")
				if atomic.AddInt64(&running, 1) == tasks {
					end = time.Now()
				}
				done.Done()
			}()
		}
		parked.Wait()
		spinFor(settleNs)
		begin := time.Now()
		close(gate)
		done.Wait()
		untilLast = append(untilLast, int64(end.Sub(begin)))
	}

	var m measurement
	untilLast.report(&m, "us", 1e3)
	return m
}

// One channel on which K tasks wait; what it costs to serve each of them. N/K rounds.
func runChanWaiters(a arguments) measurement {
	tasks := int64(a.k)
	rounds := a.n / a.k
	check(rounds >= 1, "chan_waiters needs n >= k")

	timeRelease := func(wait func(int64), release func()) time.Duration {
		var parked, done sync.WaitGroup
		var arrived int64
		parked.Add(1)
		done.Add(a.k)
		for i := int64(0); i < tasks; i++ {
			go func(i int64) {
				if atomic.AddInt64(&arrived, 1) == tasks {
					parked.Done()
				}
				wait(i)
				done.Done()
			}(i)
		}
		parked.Wait()
		begin := time.Now()
		release()
		done.Wait()
		return time.Since(begin)
	}

	var send, recv, closing time.Duration
	for round := -1; round < rounds; round++ {
		if round == 0 { // The first was to warm up.
			send, recv, closing = 0, 0, 0
		}
		var sum int64
		expected := tasks * (tasks - 1) / 2

		sends := make(chan int64)
		send += timeRelease(func(int64) { atomic.AddInt64(&sum, <-sends) }, func() {
			for i := int64(0); i < tasks; i++ {
				sends <- i
			}
		})
		check(sum == expected, "chan_waiters: what was sent was received")

		sum = 0
		recvs := make(chan int64)
		recv += timeRelease(func(i int64) { recvs <- i }, func() {
			for i := int64(0); i < tasks; i++ {
				atomic.AddInt64(&sum, <-recvs)
			}
		})
		check(sum == expected, "chan_waiters: what was received was sent")

		sum = 0
		closed := make(chan int64)
		closing += timeRelease(func(int64) {
			_, carried := <-closed
			check(!carried, "chan_waiters: the channel is closed")
			atomic.AddInt64(&sum, 1)
		}, func() { close(closed) })
		check(sum == tasks, "chan_waiters: the close wakes every task")
	}

	var m measurement
	served := rounds * a.k
	m.addPerOp("ns_per_op", send+recv+closing, served)
	m.addPerOp("send_ns", send, served)
	m.addPerOp("recv_ns", recv, served)
	m.addPerOp("close_ns", closing, served)
	return m
}
