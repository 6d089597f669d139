// What observe_costs measures of weft (bench/observe/costs), of Go: recordings, and reports on many parked goroutines.
//
//	PROGRAM WORKLOAD --p P --n N
package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/pprof"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"observing/observer"
)

func fail(what any) {
	fmt.Fprintln(os.Stderr, "bench:", what)
	os.Exit(1)
}

func check(err error) {
	if err != nil {
		fail(err)
	}
}

// cpuSeconds is the CPU time of the process.
func cpuSeconds() float64 {
	var usage syscall.Rusage
	check(syscall.Getrusage(syscall.RUSAGE_SELF, &usage))
	return float64(usage.Utime.Nano()+usage.Stime.Nano()) / 1e9
}

type measurement struct{ text string }

func (m *measurement) add(name string, value float64) {
	m.text += fmt.Sprintf(",%q:%.6g", name, value)
}

// timed adds the wall time and the CPU time of step.
func (m *measurement) timed(name string, step func()) {
	wall, cpu := time.Now(), cpuSeconds()
	step()
	m.add(name+"_s", cpuSeconds()-cpu)
	m.add(name+"_wall_s", time.Since(wall).Seconds())
}

// pingpong is the work of run_pingpong: one wait with its wake-up for each message.
func pingpong(rounds int) {
	ping, pong := make(chan int64), make(chan int64)
	var done sync.WaitGroup
	done.Add(1)
	go func() {
		for value := range ping {
			pong <- value + 1
		}
		done.Done()
	}()
	for i := 0; i < rounds; i++ {
		ping <- int64(i)
		<-pong
	}
	close(ping)
	done.Wait()
}

// The same count of round trips as for n events of weft.
func runExportPingpong(n int) (m measurement) {
	rounds := n / 6
	write, err := observer.Record(func() { pingpong(rounds) })
	check(err)
	var whole bytes.Buffer
	m.timed("write", func() { check(write(&whole)) })
	m.add("bytes_per_pair", float64(whole.Len())/float64(2*rounds))
	return m
}

//go:noinline
func waitBelow(gate chan int, kind, frames int) int {
	if frames == 0 {
		<-gate
		return kind
	}
	return waitBelow(gate, kind, frames-1) + 1
}

func park0(gate chan int) { waitBelow(gate, 0, 4) }
func park1(gate chan int) { waitBelow(gate, 1, 8) }
func park2(gate chan int) { waitBelow(gate, 2, 12) }
func park3(gate chan int) { waitBelow(gate, 3, 6) }

// parked starts n goroutines that wait, and returns when all do.
func parked(n int) {
	gate := make(chan int)
	kinds := []func(chan int){park0, park1, park2, park3}
	var started sync.WaitGroup
	started.Add(n)
	for i := 0; i < n; i++ {
		park := kinds[i%4]
		go func() {
			started.Done()
			park(gate)
		}()
	}
	started.Wait()
	time.Sleep(100 * time.Millisecond) // from Done to the wait
}

// dump writes equal stacks once, as weft::dump does.
func dump(to io.Writer) { check(pprof.Lookup("goroutine").WriteTo(to, 1)) }

func runDump(n int) (m measurement) {
	parked(n)
	m.timed("names", func() { dump(io.Discard) })
	return m
}

func runDumpDelays(n int) (m measurement) {
	parked(n)
	ping, pong := make(chan int), make(chan int)
	go func() {
		for value := range ping {
			pong <- value
		}
	}()
	var over atomic.Bool
	longest := func(isOver func() bool) float64 {
		most, last := time.Duration(0), time.Now()
		for !isOver() {
			ping <- 1
			<-pong
			now := time.Now()
			if now.Sub(last) > most {
				most = now.Sub(last)
			}
			last = now
		}
		return float64(most.Nanoseconds()) / 1000
	}
	end := time.Now().Add(500 * time.Millisecond)
	m.add("quiet_us", longest(func() bool { return time.Now().After(end) }))
	go func() {
		dump(io.Discard)
		over.Store(true)
	}()
	m.add("during_us", longest(over.Load))
	return m
}

func runGoroutineProfile(n int) (m measurement) {
	parked(n)
	var whole bytes.Buffer
	m.timed("profile", func() { check(pprof.Lookup("goroutine").WriteTo(&whole, 0)) })
	m.add("bytes", float64(whole.Len()))
	return m
}

func main() {
	suite := map[string]func(int) measurement{
		"export_pingpong":      runExportPingpong,
		"dump":                 runDump,
		"dump_delays_pingpong": runDumpDelays,
		"goroutine_profile":    runGoroutineProfile,
	}
	if len(os.Args) != 6 || suite[os.Args[1]] == nil || os.Args[2] != "--p" || os.Args[4] != "--n" {
		fail("usage: " + os.Args[0] + " export_pingpong|dump|dump_delays_pingpong|goroutine_profile --p P --n N")
	}
	p, err := strconv.Atoi(os.Args[3])
	check(err)
	n, err := strconv.Atoi(os.Args[5])
	check(err)
	runtime.GOMAXPROCS(p)
	m := suite[os.Args[1]](n)
	fmt.Printf("{\"peer\":\"go\",\"workload\":%q,\"p\":%d,\"n\":%d,\"version\":%q,\"recorder\":%q%s}\n",
		os.Args[1], p, n, runtime.Version(), observer.RecorderName, m.text)
}
