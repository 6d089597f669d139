package main

import (
	"sync"
	"time"
)

// A contest is what came of K tasks that took a lock N times between them, each as often as it could.
type contest struct {
	shares      []int
	elapsed     time.Duration
	longestWait int64
}

func contend(tasks, total int, sectionNs int64, timeWaits bool) contest {
	result := contest{shares: make([]int, tasks)}
	waits := make([]int64, tasks)
	var lock sync.Mutex
	left := total
	var done sync.WaitGroup
	done.Add(tasks)

	begin := time.Now()
	for i := 0; i < tasks; i++ {
		go func(i int) {
			mine := 0
			var longest int64
			for more := true; more; {
				var asked int64
				if timeWaits {
					asked = nowNs()
				}
				lock.Lock()
				if timeWaits {
					if waited := nowNs() - asked; waited > longest {
						longest = waited
					}
				}
				more = left > 0
				if more {
					left--
					if sectionNs > 0 {
						spinFor(sectionNs)
					}
				}
				lock.Unlock()
				if more {
					mine++
				}
			}
			result.shares[i] = mine
			waits[i] = longest
			done.Done()
		}(i)
	}
	done.Wait()
	result.elapsed = time.Since(begin)
	sum := 0
	for i := range waits {
		sum += result.shares[i]
		if waits[i] > result.longestWait {
			result.longestWait = waits[i]
		}
	}
	check(sum == total, "mutex_fair: every turn belongs to a task")
	return result
}

// C is the time for which the lock is held, in nanoseconds.
func runMutexFair(a arguments) measurement {
	section := int64(a.cap)
	contend(a.k, a.n/10+a.k, section, false)
	fast := contend(a.k, a.n, section, false)
	timed := contend(a.k, a.n, section, true)
	least, most := fast.shares[0], fast.shares[0]
	for _, share := range fast.shares {
		if share < least {
			least = share
		}
		if share > most {
			most = share
		}
	}

	var m measurement
	m.addPerOp("ns_per_op", fast.elapsed, a.n)
	m.add("max_wait_us", float64(timed.longestWait)/1e3)
	m.add("share_spread", float64((most-least)*a.k)/float64(a.n))
	return m
}

// K tasks share eight words under a reader-writer lock; one operation in ten writes them, the others read them.
func runRwlock(a arguments) measurement {
	const writeEvery = 10
	var elapsed time.Duration
	share := func(total int) {
		each := total / a.k
		var lock sync.RWMutex
		var words [8]int64
		var done sync.WaitGroup
		done.Add(a.k)
		begin := time.Now()
		for i := 0; i < a.k; i++ {
			go func() {
				for j := 0; j < each; j++ {
					if j%writeEvery == writeEvery-1 {
						lock.Lock()
						for w := range words {
							words[w]++
						}
						lock.Unlock()
					} else {
						lock.RLock()
						var sum int64
						for _, word := range words {
							sum += word
						}
						check(sum == 8*words[0], "rwlock: no task writes while another reads")
						lock.RUnlock()
					}
				}
				done.Done()
			}()
		}
		done.Wait()
		elapsed = time.Since(begin)
		check(words[7] == int64(each/writeEvery*a.k), "rwlock: no increment is lost")
	}
	share(a.n/10 + a.k)
	share(a.n)

	var m measurement
	m.addPerOp("ns_per_op", elapsed, a.n/a.k*a.k)
	return m
}

// Two tasks alternate on a flag, a mutex and one condition variable; N round trips.
func runCondPingpong(a arguments) measurement {
	var elapsed time.Duration
	play := func(rounds int) {
		var lock sync.Mutex
		changed := sync.NewCond(&lock)
		turns := 0
		var done sync.WaitGroup
		done.Add(2)
		begin := time.Now()
		for me := 0; me < 2; me++ {
			go func(me int) {
				for i := 0; i < rounds; i++ {
					lock.Lock()
					for turns%2 != me {
						changed.Wait()
					}
					turns++
					changed.Signal()
					lock.Unlock()
				}
				done.Done()
			}(me)
		}
		done.Wait()
		elapsed = time.Since(begin)
		check(turns == 2*rounds, "cond_pingpong: every turn was taken")
	}
	play(a.n/10 + 1)
	play(a.n)

	var m measurement
	m.addPerOp("ns_per_op", elapsed, a.n)
	return m
}
