package main

import (
	"sync"
	"time"
)

type primes struct{ count, last int64 }

// primesUpTo is the answer by arithmetic, to compare with.
func primesUpTo(limit int) primes {
	composite := make([]bool, limit+1)
	var result primes
	for i := 2; i <= limit; i++ {
		if composite[i] {
			continue
		}
		result = primes{result.count + 1, int64(i)}
		for j := i * i; j <= limit; j += i {
			composite[j] = true
		}
	}
	return result
}

// A generator sends 2..limit down a growing chain of filters, one per prime found.
func sieve(limit int) primes {
	var done sync.WaitGroup
	done.Add(2)
	source := make(chan int64)
	go func(out chan<- int64) {
		for i := 2; i <= limit; i++ {
			out <- int64(i)
		}
		close(out)
		done.Done()
	}(source)

	var found primes
	for {
		prime, ok := <-source
		if !ok {
			break
		}
		found = primes{found.count + 1, prime}
		filtered := make(chan int64)
		done.Add(1)
		go func(in <-chan int64, out chan<- int64) {
			for candidate := range in {
				if candidate%prime != 0 {
					out <- candidate
				}
			}
			close(out)
			done.Done()
		}(source, filtered)
		source = filtered
	}
	done.Done()
	done.Wait()
	return found
}

func runSieve(a arguments) measurement {
	warmUp := a.n/10 + 10
	check(sieve(warmUp) == primesUpTo(warmUp), "sieve: the primes of the warm-up")

	begin := time.Now()
	found := sieve(a.n)
	elapsed := time.Since(begin)
	check(found == primesUpTo(a.n), "sieve: count and last prime")

	var m measurement
	m.add("ms", float64(elapsed.Nanoseconds())/1e6)
	return m
}

// K tasks in a ring; a token makes N hops. Returns the number (from 0) of the task that received zero.
func threadRing(tasks, hops int) int {
	channels := make([]chan int64, tasks)
	for i := range channels {
		channels[i] = make(chan int64)
	}
	winner := -1
	var done sync.WaitGroup
	done.Add(tasks)
	for i := 0; i < tasks; i++ {
		go func(i int) {
			in, out := channels[i], channels[(i+1)%tasks]
			for token := range in {
				if token == 0 {
					winner = i
					break
				}
				out <- token - 1
			}
			close(out)
			done.Done()
		}(i)
	}
	channels[0] <- int64(hops)
	done.Wait()
	return winner
}

func runRing(a arguments) measurement {
	warmUp := a.n / 10
	check(threadRing(a.k, warmUp) == warmUp%a.k, "ring: the winner of the warm-up")

	begin := time.Now()
	winner := threadRing(a.k, a.n)
	elapsed := time.Since(begin)
	check(winner == a.n%a.k, "ring: the winner")

	var m measurement
	m.addPerOp("ns_per_op", elapsed, a.n)
	return m
}

// One node of the tree: sends the sum of its leaves' numbers to its parent.
func skynet(parent chan<- int64, number, leaves int64) {
	const fanOut = 10
	if leaves == 1 {
		parent <- number
		return
	}
	results := make(chan int64)
	share := leaves / fanOut
	for i := int64(0); i < fanOut; i++ {
		go skynet(results, number+i*share, share)
	}
	var sum int64
	for i := 0; i < fanOut; i++ {
		sum += <-results
	}
	parent <- sum
}

func runSkynet(a arguments) measurement {
	var m measurement
	for _, metric := range []string{"cold_ms", "ms"} {
		root := make(chan int64)
		begin := time.Now()
		go skynet(root, 0, int64(a.n))
		sum := <-root
		elapsed := time.Since(begin)
		check(sum == int64(a.n)*int64(a.n-1)/2, "skynet: the sum of the leaves")
		m.add(metric, float64(elapsed.Nanoseconds())/1e6)
	}
	m.add("peak_mib", readMemory().peak/(1<<20))
	return m
}
