package main

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// A semaphore of at most one permit, as Go programs have it: a channel.
type semaphore chan struct{}

func newSemaphore() semaphore { return make(semaphore, 1) }

func (s semaphore) acquire() { <-s }

func (s semaphore) release() { s <- struct{}{} }

// K rings of five tasks; each waits for its own semaphore and releases the next one's. N hops altogether.
func runCycle(a arguments) measurement {
	const ring = 5
	tasks := ring * a.k
	turns := a.n/tasks + 1
	semaphores := make([]semaphore, tasks)
	for i := range semaphores {
		semaphores[i] = newSemaphore()
	}
	var hops int64
	var done sync.WaitGroup
	done.Add(tasks)
	begin := time.Now()
	for i := 0; i < tasks; i++ {
		next := i + 1
		if i%ring == ring-1 {
			next = i - ring + 1
		}
		go func(mine, next semaphore) {
			for turn := 0; turn < turns; turn++ {
				mine.acquire()
				next.release()
			}
			atomic.AddInt64(&hops, int64(turns))
			done.Done()
		}(semaphores[i], semaphores[next])
	}
	for i := 0; i < tasks; i += ring {
		semaphores[i].release()
	}
	done.Wait()
	elapsed := time.Since(begin)
	check(hops == int64(turns*tasks), "cycle: every task had its turns")

	var m measurement
	m.addPerOp("ns_per_op", elapsed, turns*tasks)
	return m
}

// Places where tasks meet. Who comes to a place waits there, and sends on whom it finds.
type meeting struct {
	turnsLeft int64
	over      int32
	places    []int64 // who waits there; others than nobody are numbered from 1
	people    []*person
}

type person struct {
	turn    semaphore
	luggage []int64
	touched int64
}

const nobody = 0

func newMeeting(tasks, turns, words int) *meeting {
	m := &meeting{turnsLeft: int64(turns), places: make([]int64, tasks/2), people: make([]*person, tasks)}
	for i := range m.people {
		m.people[i] = &person{turn: newSemaphore(), luggage: make([]int64, words)}
	}
	return m
}

// sendOn lets the one who waits, if any, go on with what self has worked on, and leave its own to self.
func (m *meeting) sendOn(other int64, self *person) {
	if other == nobody {
		return
	}
	found := m.people[other-1]
	found.luggage, self.luggage = self.luggage, found.luggage
	found.turn.release()
}

// wander is what task `me` does.
func (m *meeting) wander(me int64, touches int) {
	self := m.people[me]
	for step := int64(0); ; step++ {
		draw := random(uint64(me<<40 | step))
		for i := 0; i < touches; i++ {
			self.luggage[random(draw+uint64(i))%uint64(len(self.luggage))]++
		}
		self.touched += int64(touches)
		if atomic.AddInt64(&m.turnsLeft, -1) < 0 {
			break
		}
		place := &m.places[draw%uint64(len(m.places))]
		m.sendOn(atomic.SwapInt64(place, nobody), self)
		if other := atomic.SwapInt64(place, me+1); other != nobody {
			m.people[other-1].turn.release()
		}
		if atomic.LoadInt32(&m.over) != 0 && atomic.CompareAndSwapInt64(place, me+1, nobody) {
			break
		}
		self.turn.acquire()
		if atomic.LoadInt32(&m.over) != 0 {
			break
		}
	}
	atomic.StoreInt32(&m.over, 1)
	for i := range m.places {
		m.sendOn(atomic.SwapInt64(&m.places[i], nobody), self)
	}
}

// churn: K tasks meet N times. locality: each carries 4 KiB and touches C words of it between meetings.
func runMeetings(a arguments) measurement {
	words := 0
	if a.cap > 0 {
		words = 512
	}
	check(a.k >= 2, "churn and locality need two tasks")
	var elapsed time.Duration
	meet := func(turns int) {
		all := newMeeting(a.k, turns, words)
		var done sync.WaitGroup
		done.Add(a.k)
		begin := time.Now()
		for i := 0; i < a.k; i++ {
			go func(i int) {
				all.wander(int64(i), a.cap)
				done.Done()
			}(i)
		}
		done.Wait()
		elapsed = time.Since(begin)
		var touched, marks int64
		for _, one := range all.people {
			touched += one.touched
			for _, word := range one.luggage {
				marks += word
			}
		}
		check(touched >= int64(turns*a.cap), "churn, locality: every turn was taken")
		check(marks == touched, "churn, locality: no task changed what another was working on")
	}
	meet(a.n/10 + 1)
	meet(a.n)

	var m measurement
	m.addPerOp("ns_per_op", elapsed, a.n)
	return m
}

// K tasks, one of them the leader, N times another: the leader waits until everybody has seen that it leads.
func runTransfer(a arguments) measurement {
	tasks := int64(a.k)
	var elapsed time.Duration
	transfer := func(times int64) {
		var term, led int64
		seen := make([]int64, tasks)
		for i := range seen {
			seen[i] = -1
		}
		var done sync.WaitGroup
		done.Add(a.k)
		begin := time.Now()
		for me := int64(0); me < tasks; me++ {
			go func(me int64) {
				for now := int64(0); now < times; {
					atomic.StoreInt64(&seen[me], now)
					if randomBelow(now, tasks) == me {
						for i := range seen {
							for atomic.LoadInt64(&seen[i]) < now {
								runtime.Gosched()
							}
						}
						atomic.AddInt64(&led, 1)
						atomic.StoreInt64(&term, now+1)
					} else {
						for atomic.LoadInt64(&term) == now {
							runtime.Gosched()
						}
					}
					now = atomic.LoadInt64(&term)
				}
				done.Done()
			}(me)
		}
		done.Wait()
		elapsed = time.Since(begin)
		check(led == times, "transfer: one leader in each term")
	}
	transfer(int64(a.n)/10 + 1)
	transfer(int64(a.n))

	var m measurement
	m.add("us_per_op", float64(elapsed.Nanoseconds())/1e3/float64(a.n))
	return m
}
