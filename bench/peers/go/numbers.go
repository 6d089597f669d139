package main

import (
	"math"
	"sort"
	"sync/atomic"
	"syscall"
	"time"
)

// random is SplitMix64's step as a hash: random(i) is the i-th number of one sequence.
func random(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9
	x = (x ^ (x >> 27)) * 0x94d049bb133111eb
	return x ^ (x >> 31)
}

// randomBelow is a number from 0 to limit - 1.
func randomBelow(x, limit int64) int64 { return int64(random(uint64(x)) % uint64(limit)) }

// hashOver is work that costs a few nanoseconds a step and cannot be left out.
func hashOver(x uint64, steps int) uint64 {
	for i := 0; i < steps; i++ {
		x = random(x)
	}
	return x
}

var clockStart = time.Now()

// nowNs reads the monotonic clock.
func nowNs() int64 { return int64(time.Since(clockStart)) }

// spinFor keeps the CPU busy for so long.
func spinFor(ns int64) {
	for begin := nowNs(); nowNs()-begin < ns; {
	}
}

// processUsage is the CPU time of all threads of the process, and how often one gave up its CPU because it had nothing to do.
func processUsage() (cpuNs, voluntarySwitches int64) {
	var used syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &used) != nil {
		return 0, 0
	}
	return used.Utime.Nano() + used.Stime.Nano(), used.Nvcsw
}

// samples are single durations, of which percentiles are asked.
type samples []int64

// percentile is, of at least one sample, the smallest that is not below a share of them. Sorts.
func (s samples) percentile(share float64) int64 {
	sort.Slice(s, func(i, j int) bool { return s[i] < s[j] })
	return s[int(share*float64(len(s)-1))]
}

func (s samples) report(m *measurement, unit string, scale float64) {
	put := func(name string, share float64) {
		m.add(name+"_"+unit, float64(s.percentile(share))/scale)
	}
	put("p50", 0.5)
	put("p99", 0.99)
	put("p999", 0.999)
	put("max", 1.0)
}

// A pieceOfWork is so many nanoseconds of a core that has nothing else to do: hashing, measured out beforehand. The result is
// checked each time.
type pieceOfWork struct {
	seed     *atomic.Uint64 // read anew each time: the compiler is not to know the result
	steps    int
	expected uint64
}

func newPieceOfWork(ns int64) pieceOfWork {
	const trialSteps = 50000
	w := pieceOfWork{seed: new(atomic.Uint64)}
	w.seed.Store(1)
	shortest := int64(math.MaxInt64) // The other trials were disturbed.
	var sink uint64
	for trial := 0; trial < 20; trial++ {
		begin := nowNs()
		sink += hashOver(w.seed.Load()+sink, trialSteps)
		if took := nowNs() - begin; took < shortest {
			shortest = took
		}
	}
	check(sink != 0, "work: it is done")
	w.steps = 1 + int(ns*trialSteps/shortest)
	w.expected = hashOver(w.seed.Load(), w.steps)
	return w
}

func (w pieceOfWork) run() { check(hashOver(w.seed.Load(), w.steps) == w.expected, "work: the hash") }
