package main

import (
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"
)

// blockThread blocks the OS thread, and the kernel wakes it on time: by default it may be 50 µs late. Like every call by
// package syscall it is declared to the scheduler.
func blockThread(ns int64) {
	const prSetTimerslack, clockMonotonic = 29, 1
	syscall.RawSyscall(syscall.SYS_PRCTL, prSetTimerslack, 1, 0)
	left := syscall.NsecToTimespec(ns)
	begin := nowNs()
	for {
		_, _, errno := syscall.Syscall6(syscall.SYS_CLOCK_NANOSLEEP, clockMonotonic, 0, uintptr(unsafe.Pointer(&left)),
			uintptr(unsafe.Pointer(&left)), 0, 0)
		if errno == 0 {
			break
		}
		check(errno == syscall.EINTR, "block_thread: only signals interrupt it")
	}
	check(nowNs()-begin >= ns, "block_thread: not shorter than asked for")
}

// The shortest of all system calls, raw and declared, N times each, in turns.
func runCallGuard(a arguments) measurement {
	const batch = 1000
	batches := 1 + a.n/batch
	parent := uintptr(os.Getppid())
	raw := make(samples, 0, batches)
	guard := make(samples, 0, batches)
	for i := 0; i < batches; i++ {
		var sum uintptr
		begin := nowNs()
		for j := 0; j < batch; j++ {
			answer, _, _ := syscall.RawSyscall(syscall.SYS_GETPPID, 0, 0, 0)
			sum += answer
		}
		rawNs := nowNs() - begin
		check(sum == batch*parent, "call_guard: every call answered")
		sum = 0
		begin = nowNs()
		for j := 0; j < batch; j++ {
			answer, _, _ := syscall.Syscall(syscall.SYS_GETPPID, 0, 0, 0)
			sum += answer
		}
		declaredNs := nowNs() - begin
		check(sum == batch*parent, "call_guard: every call answered")
		raw = append(raw, rawNs)
		guard = append(guard, declaredNs-rawNs)
	}

	var m measurement
	m.add("guard_ns", float64(guard.percentile(0.5))/batch)
	m.add("raw_ns", float64(raw.percentile(0.5))/batch)
	return m
}

// A task makes another one runnable and then blocks its thread for K µs, N times.
func runCallWait(a arguments) measurement {
	callNs := int64(a.k) * 1000
	other := make(samples, 0, a.n)
	both := make(samples, 0, a.n)
	call := make(chan int64, 2)
	answer := make(chan int64, 2)
	var done sync.WaitGroup
	done.Add(1)
	go func() {
		for sent := range call {
			answer <- nowNs() - sent
		}
		done.Done()
	}()
	for i := 0; i < a.n; i++ {
		begin := nowNs()
		call <- begin
		blockThread(callNs)
		waited := <-answer
		both = append(both, nowNs()-begin)
		other = append(other, waited)
	}
	close(call)
	done.Wait()

	var m measurement
	both.report(&m, "us", 1e3)
	m.add("other_p50_us", float64(other.percentile(0.5))/1e3)
	m.add("other_p99_us", float64(other.percentile(0.99))/1e3)
	return m
}

// A task does pieces of work of 1 µs, giving way after each, for 100 ms alone, and for 100 ms beside one that blocks its thread for
// K µs over and over. N times, in turns.
func runCallCount(a arguments) measurement {
	const phaseNs = 100000000
	callNs := int64(a.k) * 1000
	piece := newPieceOfWork(1000)
	nsPerPiece := func() float64 {
		pieces := 0
		begin := nowNs()
		for ; nowNs()-begin < phaseNs; pieces++ {
			piece.run()
			runtime.Gosched()
		}
		return float64(nowNs()-begin) / float64(pieces)
	}

	nsPerPiece()
	threadsBefore := threads()
	mostThreads := 0.0
	slowdown := make(samples, 0, a.n) // in millionths
	took := make(samples, 0, int64(a.n)*(phaseNs/callNs+2))
	for round := 0; round < a.n; round++ {
		alone := nsPerPiece()
		var stop atomic.Bool
		var done sync.WaitGroup
		done.Add(1)
		end := nowNs() + phaseNs
		go func() {
			for !stop.Load() && nowNs() < end {
				begin := nowNs()
				blockThread(callNs)
				took = append(took, nowNs()-begin)
			}
			done.Done()
		}()
		beside := nsPerPiece()
		if count := threads(); count > mostThreads {
			mostThreads = count
		}
		stop.Store(true)
		done.Wait()
		slowdown = append(slowdown, int64(beside/alone*1e6))
	}
	check(len(took) >= a.n, "call_count: calls were made")

	var m measurement
	m.add("slowdown", float64(slowdown.percentile(0.5))/1e6)
	m.add("calls_per_s", float64(len(took)*1000000000/(a.n*phaseNs)))
	m.add("call_p50_us", float64(took.percentile(0.5))/1e3)
	m.add("new_threads", mostThreads-threadsBefore)
	return m
}

// K tasks block their threads for 10 ms each, beside one that computes for a third of a second, or until they are done. N rounds.
func runCallCrowd(a arguments) measurement {
	const callNs, computeNs = 10000000, 330000000
	piece := newPieceOfWork(2000)
	untilAll := make(samples, 0, a.n)
	var mostThreads float64
	for round := 0; round < a.n; round++ {
		var left, pieces atomic.Int64
		left.Store(int64(a.k))
		var end time.Time
		var done sync.WaitGroup
		done.Add(a.k + 1)
		begin := time.Now()
		go func() {
			var mine int64
			for ; left.Load() > 0 && time.Since(begin) < computeNs; mine++ {
				piece.run()
			}
			pieces.Store(mine)
			done.Done()
		}()
		for i := 0; i < a.k; i++ {
			go func() {
				blockThread(callNs)
				if left.Add(-1) == 0 {
					end = time.Now()
				}
				done.Done()
			}()
		}
		done.Wait()
		check(left.Load() == 0, "call_crowd: every call was made")
		check(pieces.Load() > 0, "call_crowd: there was computing beside them")
		untilAll = append(untilAll, int64(end.Sub(begin)))
		if count := threads(); count > mostThreads {
			mostThreads = count
		}
	}

	var m measurement
	untilAll.report(&m, "ms", 1e6)
	m.add("threads", mostThreads)
	return m
}
