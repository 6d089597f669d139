package main

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// burst starts that many tasks, which park on one channel; lets all of them go when the last has arrived, and waits for their ends. It returns
// what was resident meanwhile, if asked.
func burst(tasks int, look bool) float64 {
	gate := make(chan int64)
	var parked, done sync.WaitGroup
	var arrived, woken atomic.Int64
	parked.Add(1)
	done.Add(tasks)
	for i := 0; i < tasks; i++ {
		go func() {
			if arrived.Add(1) == int64(tasks) {
				parked.Done()
			}
			if _, carried := <-gate; !carried {
				woken.Add(1)
			}
			done.Done()
		}()
	}
	parked.Wait()
	resident := 0.0
	if look {
		resident = readMemory().resident
	}
	close(gate)
	done.Wait()
	check(woken.Load() == int64(tasks), "burst: the close wakes every task")
	return resident
}

// N tasks park and end; then nothing happens. Resident memory before, at the peak, and some seconds after the end.
func runAfterBurst(a arguments) measurement {
	const mib = 1 << 20
	var m measurement
	m.add("before_mib", readMemory().resident/mib)
	m.add("peak_mib", burst(a.n, true)/mib)
	end := time.Now()
	for _, seconds := range []int{1, 2, 3, 4, 5, 6, 8, 10, 15} {
		time.Sleep(time.Until(end.Add(time.Duration(seconds) * time.Second)))
		m.add(fmt.Sprintf("mib_at_%d", seconds), readMemory().resident/mib)
	}
	m.add("page_table_mib", readMemory().pageTable/mib)
	return m
}

// Every 100 ms for N times, K tasks and then 10: the time that each of the K takes.
func runOscillate(a arguments) measurement {
	const period = 100 * time.Millisecond
	burst(a.k, false) // warm
	var busy time.Duration
	for i := 0; i < a.n; i++ {
		begin := time.Now()
		burst(a.k, false)
		busy += time.Since(begin)
		burst(10, false)
		time.Sleep(time.Until(begin.Add(period)))
	}
	var m measurement
	m.addPerOp("ns_per_op", busy, a.n*a.k)
	m.add("resident_mib", readMemory().resident/(1<<20))
	return m
}
