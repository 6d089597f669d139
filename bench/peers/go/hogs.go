package main

import (
	"math"
	"sync"
	"sync/atomic"
	"time"
)

// K tasks compute without a call into the runtime, and one sleeps until the next multiple of 10 ms, N times. Lateness counts from
// when it wanted to wake, also if it was asleep or waiting then.
func runHogSleeper(a arguments) measurement {
	const periodNs = 10000000
	piece := newPieceOfWork(2000)
	pieces := make([]int64, a.k)
	lateness := make(samples, 0, a.n)
	var done sync.WaitGroup
	done.Add(a.k)
	begin := nowNs()
	end := begin + int64(a.n+1)*periodNs
	for i := range pieces {
		go func(i int) {
			mine := int64(0)
			for ; nowNs() < end; mine++ {
				piece.run()
			}
			pieces[i] = mine
			done.Done()
		}(i)
	}
	for i := 1; i <= a.n; i++ {
		due := begin + int64(i)*periodNs
		wait := due - nowNs()
		if wait > 0 {
			time.Sleep(time.Duration(wait))
		}
		lateness = append(lateness, nowNs()-due)
	}
	done.Wait()
	check(lateness.percentile(0) >= 0, "hog_sleeper: never early")
	for _, mine := range pieces {
		check(mine > 0, "hog_sleeper: every hog computed")
	}

	var m measurement
	lateness.report(&m, "us", 1e3)
	return m
}

const (
	shortNs = 2000
	longNs  = 2000000
)

// arrivals is when requests arrive: at random, so that all of them together are half of what P cores can do.
func arrivals(durationNs int64, p int) []int64 {
	const meanWorkNs = 0.99*shortNs + 0.01*longNs
	apartNs := meanWorkNs / (0.5 * float64(p))
	var dueNs []int64
	next := 0.0
	for i := uint64(0); next < float64(durationNs); i++ {
		dueNs = append(dueNs, int64(next))
		uniform := float64(random(i)>>11) * 0x1p-53
		next -= math.Log1p(-uniform) * apartNs
	}
	return dueNs
}

// isLong is true for one in a hundred.
func isLong(i int64) bool { return randomBelow(^i, 100) == 0 }

// For N ms requests of 2 µs arrive, of which one in a hundred takes 2 ms instead, each of them a task; beside them one task that
// never gives way. The load is open: a request counts from when it was to arrive, however late it was started, to its end.
func runHogTail(a arguments) measurement {
	shortPiece := newPieceOfWork(shortNs)
	load := arrivals(int64(a.n)*1000000, a.p)
	took := make([]int64, len(load))
	var stop atomic.Bool
	var hogged int64
	var hog, done sync.WaitGroup
	hog.Add(1)
	done.Add(len(load))
	go func() {
		for ; !stop.Load(); hogged++ {
			shortPiece.run()
		}
		hog.Done()
	}()
	begin := nowNs()
	for i, dueNs := range load {
		due := begin + dueNs
		wait := due - nowNs()
		if wait > 0 {
			time.Sleep(time.Duration(wait))
		}
		go func(i int) {
			pieces := 1
			if isLong(int64(i)) {
				pieces = longNs / shortNs
			}
			for piece := 0; piece < pieces; piece++ {
				shortPiece.run()
			}
			took[i] = nowNs() - due
			done.Done()
		}(i)
	}
	done.Wait()
	end := nowNs()
	stop.Store(true)
	hog.Wait()
	check(hogged > 0, "hog_tail: the hog computed")

	var shortOnes, longOnes samples
	for i, ns := range took {
		check(ns > 0, "hog_tail: every request was served, none before it came")
		if isLong(int64(i)) {
			longOnes = append(longOnes, ns)
		} else {
			shortOnes = append(shortOnes, ns)
		}
	}
	var m measurement
	shortOnes.report(&m, "us", 1e3)
	m.add("long_p50_us", float64(longOnes.percentile(0.5))/1e3)
	m.add("requests_per_s", float64(len(load))*1e9/float64(end-begin))
	m.add("hog_share", float64(hogged*shortNs)/float64(end-begin))
	return m
}
