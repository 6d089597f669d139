package main

import (
	"sort"
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

func (s samples) report(m *measurement, unit string, scale float64) {
	sort.Slice(s, func(i, j int) bool { return s[i] < s[j] })
	put := func(name string, share float64) {
		m.add(name+"_"+unit, float64(s[int(share*float64(len(s)-1))])/scale)
	}
	put("p50", 0.5)
	put("p99", 0.99)
	put("p999", 0.999)
	put("max", 1.0)
}
