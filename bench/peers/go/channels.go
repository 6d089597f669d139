package main

import (
	"sync"
	"sync/atomic"
	"time"
)

// Two tasks send one value to and fro, N round trips; the echo adds one.
func runPingpong(a arguments) measurement {
	var elapsed time.Duration
	play := func(rounds int) {
		ping := make(chan int64, a.cap)
		pong := make(chan int64, a.cap)
		var done sync.WaitGroup
		done.Add(2)
		go func() {
			for value := range ping {
				pong <- value + 1
			}
			done.Done()
		}()
		go func() {
			begin := time.Now()
			for i := int64(0); i < int64(rounds); i++ {
				ping <- i
				check(<-pong == i+1, "pingpong: the echo of what was sent")
			}
			elapsed = time.Since(begin)
			close(ping)
			done.Done()
		}()
		done.Wait()
	}
	play(a.n/10 + 1)
	play(a.n)

	var m measurement
	m.addPerOp("ns_per_op", elapsed, a.n)
	return m
}

// K producers share N sends, K consumers share the receives.
func runMpmc(a arguments) measurement {
	var elapsed time.Duration
	transfer := func(messages int) {
		each := int64(messages / a.k)
		channel := make(chan int64, a.cap)
		var produced, consumed sync.WaitGroup
		var sum, count int64
		produced.Add(a.k)
		consumed.Add(a.k)

		begin := time.Now()
		for i := 0; i < a.k; i++ {
			go func() {
				var mySum, myCount int64
				for value := range channel {
					mySum += value
					myCount++
				}
				atomic.AddInt64(&sum, mySum)
				atomic.AddInt64(&count, myCount)
				consumed.Done()
			}()
		}
		for i := 0; i < a.k; i++ {
			first := int64(i) * each
			go func() {
				for j := int64(0); j < each; j++ {
					channel <- first + j
				}
				produced.Done()
			}()
		}
		produced.Wait()
		close(channel)
		consumed.Wait()
		elapsed = time.Since(begin)

		total := each * int64(a.k)
		check(count == total, "mpmc: every message arrives once")
		check(sum == total*(total-1)/2, "mpmc: the sum of the messages")
	}
	transfer(a.n/10 + a.k)
	transfer(a.n)

	var m measurement
	m.addPerOp("ns_per_op", elapsed, a.n/a.k*a.k)
	return m
}
