package main

import (
	"bufio"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// K tasks are alive at any time. Each sleeps for its life, between 1 µs and 1 s at random, starts its successor and ends; N of
// them are counted after 3 K that warm up, so the run takes about N / 2 K seconds.
func runLifetimes(a arguments) measurement {
	alive := int64(a.k)
	warm := 3 * alive
	total := warm + int64(a.n)
	// There, and touched, from the start: memory is watched.
	spawnNs := make(samples, total)
	beginNs := make(samples, total)
	for i := range spawnNs {
		spawnNs[i], beginNs[i] = 1, 1
	}
	var started, ended atomic.Int64
	var warmedUp, allStarted, done sync.WaitGroup

	var live func(i, spawned int64)
	start := func(i int64) {
		begin := nowNs()
		go live(i, begin)
		spawnNs[i] = nowNs() - begin
	}
	live = func(i, spawned int64) {
		born := nowNs()
		beginNs[i] = born - spawned
		lifeNs := 1000 + randomBelow(i, 1000000000-1000)
		time.Sleep(time.Duration(lifeNs))
		check(nowNs()-born >= lifeNs, "lifetimes: no task ends early")
		ended.Add(1)
		next := started.Add(1) - 1
		if next < total {
			start(next)
		}
		if next == warm {
			warmedUp.Done()
		}
		if next == total {
			allStarted.Done()
		}
		if next >= total {
			done.Done()
		}
	}

	warmedUp.Add(1)
	allStarted.Add(1)
	done.Add(a.k)
	started.Store(alive)
	for i := int64(0); i < alive; i++ {
		start(i)
	}
	warmedUp.Wait()
	first := started.Load()
	before := readMemory()
	cpuBefore, _ := processUsage()
	begin := nowNs()
	allStarted.Wait()
	elapsed := nowNs() - begin
	cpuAfter, _ := processUsage()
	after := readMemory()
	done.Wait()
	check(ended.Load() == total, "lifetimes: every task that started ended")
	check(first < total && elapsed > 0, "lifetimes: the watcher came in time")

	var m measurement
	counted := total - first
	m.add("ns_per_op", float64(cpuAfter-cpuBefore)/float64(counted))
	m.add("lives_per_s", float64(counted)*1e9/float64(elapsed))
	report := func(all samples, p50, p999 string) {
		m.add(p50, float64(all[warm:].percentile(0.5)))
		m.add(p999, float64(all[warm:].percentile(0.999)))
	}
	report(spawnNs, "spawn_p50_ns", "spawn_p999_ns")
	report(beginNs, "start_p50_ns", "start_p999_ns")
	m.add("drift_percent", (after.resident-before.resident)/before.resident*100)
	m.add("resident_mib", after.resident/(1<<20))
	return m
}

// readSwitches is how often each thread of the process has lost or given up its CPU so far.
func readSwitches() map[string]int64 {
	result := map[string]int64{}
	threads, err := os.ReadDir("/proc/self/task")
	check(err == nil, "idle: /proc/self/task")
	for _, thread := range threads {
		file, err := os.Open("/proc/self/task/" + thread.Name() + "/status")
		if err != nil {
			continue
		}
		for lines := bufio.NewScanner(file); lines.Scan(); {
			fields := strings.Fields(lines.Text())
			if len(fields) == 2 && strings.HasSuffix(fields[0], "voluntary_ctxt_switches:") {
				count, _ := strconv.ParseInt(fields[1], 10, 64)
				result[thread.Name()] += count
			}
		}
		file.Close()
	}
	check(len(result) > 0, "idle: threads have counts")
	return result
}

// K tasks have worked and slept, and wait on a channel. After two seconds a thread of its own, which the scheduler knows to be in
// a system call, watches the others for N ms: how often they come to run, and their CPU time.
func runIdle(a arguments) measurement {
	const settleNs = 2000000000
	gate := make(chan int64, 2)
	var done sync.WaitGroup
	var ended atomic.Int64
	done.Add(a.k)
	for i := 0; i < a.k; i++ {
		go func() {
			for turn := 0; turn < 100; turn++ {
				runtime.Gosched()
			}
			time.Sleep(time.Millisecond)
			_, carried := <-gate
			check(!carried, "idle: the gate carries nothing")
			ended.Add(1)
			done.Done()
		}()
	}
	var switches, usedNs int64
	var seconds float64
	var watched sync.WaitGroup
	watched.Add(1)
	go func() {
		runtime.LockOSThread()
		self := strconv.Itoa(syscall.Gettid())
		blockThread(settleNs)
		check(ended.Load() == 0, "idle: every task waits")
		begin := nowNs()
		cpuBefore, _ := processUsage()
		before := readSwitches()
		blockThread(int64(a.n) * 1000000)
		cpuAfter, _ := processUsage()
		after := readSwitches()
		usedNs = cpuAfter - cpuBefore
		seconds = float64(nowNs()-begin) / 1e9
		for thread, count := range after {
			if thread != self {
				switches += count - before[thread]
			}
		}
		close(gate)
		watched.Done()
	}()
	done.Wait()
	watched.Wait()

	var m measurement
	m.add("switches_per_s", float64(switches)/seconds)
	m.add("cpu_percent", float64(usedNs)/1e7/seconds)
	return m
}
