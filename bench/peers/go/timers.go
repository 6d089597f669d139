package main

import (
	"sync"
	"sync/atomic"
	"time"
)

// farOff is the i-th deadline, as a time from now: between one hour and two.
func farOff(i int64) time.Duration {
	return time.Hour + time.Duration(randomBelow(i, int64(time.Hour)))
}

func tooEarly() { check(false, "timers: one fired an hour early") }

func pendingTimers(count int) []*time.Timer {
	timers := make([]*time.Timer, count)
	for i := range timers {
		timers[i] = time.AfterFunc(farOff(int64(i)), tooEarly)
	}
	return timers
}

func stopAll(timers []*time.Timer) {
	for _, timer := range timers {
		check(timer.Stop(), "timers: still pending at the end")
	}
}

// Starts a timer and stops it, N times over, while C others are pending.
func runTimerAddStop(a arguments) measurement {
	pending := pendingTimers(a.cap)
	addAndStop := func(count int64) {
		for i := int64(0); i < count; i++ {
			timer := time.AfterFunc(farOff(^i), tooEarly)
			check(timer.Stop(), "timer_add_stop: stopped before it fired")
		}
	}
	addAndStop(int64(a.n)/10 + 1)
	begin := time.Now()
	addAndStop(int64(a.n))
	elapsed := time.Since(begin)
	stopAll(pending)

	var m measurement
	m.addPerOp("ns_per_op", elapsed, a.n)
	return m
}

// Gives one of C pending timers (of one, if C is 0), drawn at random, another deadline, N times over.
func runTimerReset(a arguments) measurement {
	count := a.cap
	if count < 1 {
		count = 1
	}
	pending := pendingTimers(count)
	putOff := func(times int64) {
		for i := int64(0); i < times; i++ {
			check(pending[randomBelow(i, int64(count))].Reset(farOff(^i)), "timer_reset: pending before")
		}
	}
	putOff(int64(a.n)/10 + 1)
	begin := time.Now()
	putOff(int64(a.n))
	elapsed := time.Since(begin)
	stopAll(pending)

	var m measurement
	m.addPerOp("ns_per_op", elapsed, a.n)
	return m
}

// N timers, due at random within N microseconds and started before the first is due, all fire.
func runTimerFire(a arguments) measurement {
	const apartNs = 1000
	count := int64(a.n)
	rounds := 20000 / count
	if rounds < 1 {
		rounds = 1
	}
	if rounds > 1000 {
		rounds = 1000
	}
	leadNs := 200000 + 2*apartNs*count
	late := make([]int64, count)
	lateness := make(samples, 0, rounds*count)
	var armingNs, firingCPU int64
	cpuBefore, _ := processUsage()

	for round := int64(0); round < rounds; round++ {
		timers := make([]*time.Timer, 0, count)
		var fired int64
		var done sync.WaitGroup
		done.Add(1)
		firstDue := nowNs() + leadNs
		for i := int64(0); i < count; i++ {
			i, due := i, firstDue+randomBelow(i+round, count)*apartNs
			timers = append(timers, time.AfterFunc(time.Duration(due-nowNs()), func() {
				late[i] = nowNs() - due
				if atomic.AddInt64(&fired, 1) == count {
					done.Done()
				}
			}))
		}
		armingNs += nowNs() - (firstDue - leadNs)
		cpuArmed, _ := processUsage()
		done.Wait()
		cpuFired, _ := processUsage()
		firingCPU += cpuFired - cpuArmed
		for _, ns := range late {
			check(ns >= 0, "timer_fire: none is early")
			lateness = append(lateness, ns)
		}
	}

	var m measurement
	lateness.report(&m, "us", 1e3)
	cpuAfter, _ := processUsage()
	m.add("cpu_s", float64(cpuAfter-cpuBefore)/1e9)
	m.add("arm_ns", float64(armingNs)/float64(rounds*count))
	m.add("fire_ns", float64(firingCPU)/float64(rounds*count))
	return m
}

// One task sleeps K microseconds, N times over; nothing else runs.
func runSleepPrecision(a arguments) measurement {
	asked := time.Duration(a.k) * time.Microsecond
	overshoot := make(samples, 0, a.n)
	for i := 0; i < a.n; i++ {
		begin := time.Now()
		time.Sleep(asked)
		slept := time.Since(begin)
		check(slept >= asked, "sleep_precision: not shorter than asked for")
		overshoot = append(overshoot, int64(slept-asked))
	}
	var m measurement
	overshoot.report(&m, "us", 1e3)
	return m
}

// K tasks sleep 500, 510, 520 … microseconds over and over, for N milliseconds.
func runSleepStaggered(a arguments) measurement {
	var sleeps int64
	var done sync.WaitGroup
	done.Add(a.k)
	cpuBefore, switchesBefore := processUsage()
	begin := time.Now()
	whole := time.Duration(a.n) * time.Millisecond
	for i := 0; i < a.k; i++ {
		go func(i int) {
			asked := time.Duration(500+10*i) * time.Microsecond
			var mine int64
			for ; time.Since(begin) < whole; mine++ {
				time.Sleep(asked)
			}
			check(mine > 0 && mine <= int64(whole/asked)+1, "sleep_staggered: as often as there is time for")
			atomic.AddInt64(&sleeps, mine)
			done.Done()
		}(i)
	}
	done.Wait()
	seconds := time.Since(begin).Seconds()
	cpuAfter, switchesAfter := processUsage()

	var m measurement
	m.add("cpu_percent", float64(cpuAfter-cpuBefore)/1e7/seconds)
	m.add("sleeps_per_s", float64(sleeps)/seconds)
	m.add("wakes_per_s", float64(switchesAfter-switchesBefore)/seconds)
	return m
}
