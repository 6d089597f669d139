package main

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// K tasks take turns: all start and park, all wake, then each yields exactly N/K times.
func runYield(a arguments) measurement {
	tasks := int64(a.k)
	each := a.n / a.k
	check(each >= 1, "yield needs n >= k")

	gate := make(chan int64)
	var started, awake, finished int64
	var open uint32
	var begin, end time.Time
	var parked, done sync.WaitGroup
	parked.Add(1)
	done.Add(a.k)
	for i := 0; i < a.k; i++ {
		go func() {
			if atomic.AddInt64(&started, 1) == tasks {
				parked.Done()
			}
			_, carried := <-gate
			check(!carried, "yield: the gate carries nothing")
			if atomic.AddInt64(&awake, 1) == tasks {
				begin = time.Now()
				atomic.StoreUint32(&open, 1)
			}
			for atomic.LoadUint32(&open) == 0 {
				runtime.Gosched()
			}
			for turn := 0; turn < each; turn++ {
				runtime.Gosched()
			}
			if atomic.AddInt64(&finished, 1) == tasks {
				end = time.Now()
			}
			done.Done()
		}()
	}
	parked.Wait()
	close(gate)
	done.Wait()
	check(finished == tasks, "yield: every task finishes once")

	var m measurement
	m.addPerOp("ns_per_op", end.Sub(begin), each*a.k)
	return m
}

// Spawns an empty task and joins it, N times over.
func runSpawnJoin(a arguments) measurement {
	ran := 0
	var done sync.WaitGroup
	spawnMany := func(count int) {
		for i := 0; i < count; i++ {
			done.Add(1)
			go func() {
				ran++
				done.Done()
			}()
			done.Wait()
		}
	}
	warmUp := a.n / 10
	spawnMany(warmUp)

	begin := time.Now()
	spawnMany(a.n)
	elapsed := time.Since(begin)
	check(ran == warmUp+a.n, "spawn_join: every task ran once")

	var m measurement
	m.addPerOp("ns_per_op", elapsed, a.n)
	return m
}

// Spawns K empty tasks and joins them all, N/K times over; the first batch is cold.
func runSpawnBatch(a arguments) measurement {
	batches := a.n / a.k
	check(batches >= 1, "spawn_batch needs n >= k")

	var unstarted memory
	spawnBatch := func(lookAtMemory bool) {
		var done sync.WaitGroup
		done.Add(a.k)
		for i := 0; i < a.k; i++ {
			go func() { done.Done() }()
		}
		if lookAtMemory {
			unstarted = readMemory()
		}
		done.Wait()
	}

	before := readMemory()
	cold := time.Now()
	spawnBatch(true)
	begin := time.Now()
	for i := 0; i < batches; i++ {
		spawnBatch(false)
	}
	end := time.Now()

	var m measurement
	m.addPerOp("ns_per_op", end.Sub(begin), batches*a.k)
	m.addPerOp("cold_ns", begin.Sub(cold), a.k)
	m.add("unstarted_bytes", (unstarted.resident-before.resident)/float64(a.k))
	m.add("peak_mib", readMemory().peak/(1<<20))
	return m
}

// N tasks park on one channel, which is then closed; cold, then warm.
func runSpawnBlock(a arguments) measurement {
	var m measurement
	tasks := int64(a.n)
	for _, cold := range []bool{true, false} {
		gate := make(chan int64)
		var parked, done sync.WaitGroup
		var arrived, woken int64
		parked.Add(1)
		done.Add(a.n)

		before := readMemory()
		begin := time.Now()
		for i := 0; i < a.n; i++ {
			go func() {
				if atomic.AddInt64(&arrived, 1) == tasks {
					parked.Done()
				}
				if _, ok := <-gate; !ok {
					atomic.AddInt64(&woken, 1)
				}
				done.Done()
			}()
		}
		parked.Wait()
		created := time.Now()
		during := readMemory()
		release := time.Now()
		close(gate)
		done.Wait()
		end := time.Now()
		check(woken == tasks, "spawn_block: the close wakes every task")

		both := created.Sub(begin) + end.Sub(release)
		if cold {
			m.addPerOp("cold_create_ns", created.Sub(begin), a.n)
			m.addPerOp("cold_release_ns", end.Sub(release), a.n)
			m.addPerOp("cold_ns", both, a.n)
			m.add("parked_bytes", (during.resident-before.resident)/float64(a.n))
			m.add("page_table_bytes", (during.pageTable-before.pageTable)/float64(a.n))
		} else {
			m.addPerOp("create_ns", created.Sub(begin), a.n)
			m.addPerOp("release_ns", end.Sub(release), a.n)
			m.addPerOp("ns_per_op", both, a.n)
		}
	}
	return m
}

// K tasks share one lock and one plain counter.
func runMutex(a arguments) measurement {
	var elapsed time.Duration
	contend := func(total int) {
		each := total / a.k
		var lock sync.Mutex
		counter := 0
		var done sync.WaitGroup
		done.Add(a.k)
		begin := time.Now()
		for i := 0; i < a.k; i++ {
			go func() {
				for j := 0; j < each; j++ {
					lock.Lock()
					counter++
					lock.Unlock()
				}
				done.Done()
			}()
		}
		done.Wait()
		elapsed = time.Since(begin)
		check(counter == each*a.k, "mutex: no increment is lost")
	}
	contend(a.n/10 + a.k)
	contend(a.n)

	var m measurement
	m.addPerOp("ns_per_op", elapsed, a.n/a.k*a.k)
	return m
}
