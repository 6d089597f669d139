// bugs_test.go: the five bugs of ../../bugs.h in testing/synctest, which has virtual time and
// detects deadlocks, but does not choose the order. Each is run until it fails, at most 10 s.
package sim_peers

import (
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func lostUpdate() {
	x := 0
	var m sync.Mutex
	var both sync.WaitGroup
	for range 2 {
		both.Go(func() {
			m.Lock()
			seen := x
			m.Unlock()
			m.Lock()
			x = seen + 1
			m.Unlock()
		})
	}
	both.Wait()
	if x != 2 {
		panic("an addition was lost")
	}
}

// A goroutine that waits for a mutex does not count as blocked in synctest: channels are used as
// locks, so that the deadlock is detected.
func invertedLocks() {
	a := make(chan bool, 1)
	b := make(chan bool, 1)
	var both sync.WaitGroup
	both.Go(func() { a <- true; b <- true; <-b; <-a })
	both.Go(func() { b <- true; a <- true; <-a; <-b })
	both.Wait()
}

func lostWakeup() {
	done := false
	var m sync.Mutex
	changed := sync.NewCond(&m)
	var one sync.WaitGroup
	one.Go(func() {
		m.Lock()
		seen := done
		m.Unlock()
		if seen {
			return
		}
		m.Lock()
		changed.Wait()
		m.Unlock()
	})
	m.Lock()
	done = true
	changed.Broadcast()
	m.Unlock()
	one.Wait()
}

func notifiedTheWrongOne() {
	items := 0
	var m sync.Mutex
	changed := sync.NewCond(&m)
	var all sync.WaitGroup
	for _, full := range []int{1, 0, 1, 0} {
		all.Go(func() {
			for range 2 {
				m.Lock()
				for items == full {
					changed.Wait()
				}
				items = 1 - items
				changed.Signal()
				m.Unlock()
			}
		})
	}
	all.Wait()
}

func barrierWithoutPhases() {
	arrived := 0
	var m sync.Mutex
	allHere := sync.NewCond(&m)
	meet := func() {
		m.Lock()
		defer m.Unlock()
		arrived++
		if arrived == 2 {
			arrived = 0
			allHere.Broadcast()
			return
		}
		for arrived != 0 {
			allHere.Wait()
		}
	}
	var both sync.WaitGroup
	for range 2 {
		both.Go(func() { meet(); meet() })
	}
	both.Wait()
}

func fails(t *testing.T, bug func()) (failed bool) {
	defer func() { failed = recover() != nil }()
	synctest.Test(t, func(*testing.T) {
		defer func() {
			if recover() != nil {
				failed = true
			}
		}()
		bug()
	})
	return failed
}

func TestBugs(t *testing.T) {
	for _, b := range []struct {
		name string
		run  func()
	}{{"lost_update", lostUpdate}, {"inverted_locks", invertedLocks}, {"lost_wakeup", lostWakeup},
		{"notified_the_wrong_one", notifiedTheWrongOne}, {"barrier_without_phases", barrierWithoutPhases}} {
		began := time.Now()
		runs := 1
		for !fails(t, b.run) && time.Since(began) < 10*time.Second {
			runs++
		}
		if took := time.Since(began); took < 10*time.Second {
			fmt.Printf("%s %d %.3f\n", b.name, runs, float64(took.Nanoseconds())/1e6)
		} else {
			fmt.Printf("%s not_found %d\n", b.name, runs)
		}
	}
}
