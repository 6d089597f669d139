// The suite over goroutines. The work is that of bench/workload/*.h, line for line.
//
// Settings: the defaults. The driver adds a variant with GOGC=off where memory is allocated. Channels, locks, timers and
// select are the language's own. Go has no semaphore: a channel with room for one stands in, as in Go programs. It has no threads
// outside of its scheduler, so wake_idle is left out.
package main

import (
	"bufio"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"

	"observing/observer"
)

type arguments struct {
	workload string
	p        int
	n        int
	k        int
	cap      int
	reps     int
}

func usage() {
	fmt.Fprintf(os.Stderr, "usage: %s WORKLOAD --p P --n N [--k K] [--cap C] [--reps R]\n", os.Args[0])
	os.Exit(2)
}

func parseArguments() arguments {
	a := arguments{p: 1, n: 1000000, k: 1, cap: 0, reps: 1}
	if len(os.Args) < 2 || len(os.Args)%2 != 0 {
		usage()
	}
	a.workload = os.Args[1]
	for i := 2; i < len(os.Args); i += 2 {
		value, err := strconv.Atoi(os.Args[i+1])
		if err != nil || value < 0 {
			usage()
		}
		switch os.Args[i] {
		case "--p":
			a.p = value
		case "--n":
			a.n = value
		case "--k":
			a.k = value
		case "--cap":
			a.cap = value
		case "--reps":
			a.reps = value
		default:
			usage()
		}
	}
	if a.p < 1 || a.n < 1 || a.k < 1 || a.reps < 1 {
		usage()
	}
	return a
}

// check ends the process when the work that was timed was not the work that was asked for.
func check(ok bool, what string) {
	if !ok {
		fmt.Fprintf(os.Stderr, "bench: wrong result: %s\n", what)
		os.Exit(1)
	}
}

// threads is how many threads the process has; 0 where nobody tells.
func threads() float64 {
	text, _ := os.ReadFile("/proc/self/status")
	for _, line := range strings.Split(string(text), "\n") {
		if fields := strings.Fields(line); len(fields) == 2 && fields[0] == "Threads:" {
			count, _ := strconv.ParseFloat(fields[1], 64)
			return count
		}
	}
	return 0
}

type memory struct {
	resident  float64
	pageTable float64
	peak      float64
}

func readMemory() memory {
	var m memory
	file, err := os.Open("/proc/self/status")
	if err != nil {
		return m
	}
	defer file.Close()
	for lines := bufio.NewScanner(file); lines.Scan(); {
		fields := strings.Fields(lines.Text())
		if len(fields) < 2 {
			continue
		}
		kib, _ := strconv.ParseFloat(fields[1], 64)
		switch fields[0] {
		case "VmRSS:":
			m.resident = kib * 1024
		case "VmPTE:":
			m.pageTable = kib * 1024
		case "VmHWM:":
			m.peak = kib * 1024
		}
	}
	return m
}

// A measurement is the metrics of one repetition, printed as one flat JSON object.
type measurement struct{ text string }

func (m *measurement) add(name string, value float64) {
	m.text += fmt.Sprintf(",%q:%.6g", name, value)
}

func (m *measurement) addPerOp(name string, total time.Duration, operations int) {
	m.add(name, float64(total.Nanoseconds())/float64(operations))
}

var suite = map[string]func(arguments) measurement{
	"yield":       runYield,
	"spawn_join":  runSpawnJoin,
	"spawn_batch": runSpawnBatch,
	"spawn_block": runSpawnBlock,
	"pingpong":    runPingpong,
	"mpmc":        runMpmc,
	"sieve":       runSieve,
	"ring":        runRing,
	"skynet":      runSkynet,
	"mutex":       runMutex,

	"mutex_fair":    runMutexFair,
	"rwlock":        runRwlock,
	"cond_pingpong": runCondPingpong,

	"select_ready":   runSelectReady,
	"select_block":   runSelectBlock,
	"select_default": runSelectDefault,
	"select_meet":    runSelectMeet,
	"select_width":   runSelectWidth,
	"withdraw":       runWithdraw,
	"chan_waiters":   runChanWaiters,

	"fib":     runFib,
	"nqueens": runNqueens,
	"uts":     runUts,
	"matmul":  runMatmul,

	"timer_add_stop":  runTimerAddStop,
	"timer_reset":     runTimerReset,
	"timer_fire":      runTimerFire,
	"sleep_precision": runSleepPrecision,
	"sleep_staggered": runSleepStaggered,
	"wake_same":       runWakeSame,
	"wake_busy":       runWakeBusy,
	"fan_out":         runFanOut,

	"call_guard":  runCallGuard,
	"call_wait":   runCallWait,
	"call_count":  runCallCount,
	"call_crowd":  runCallCrowd,
	"hog_sleeper": runHogSleeper,
	"hog_tail":    runHogTail,
	"lifetimes":   runLifetimes,
	"idle":        runIdle,
	"after_burst": runAfterBurst,
	"oscillate":   runOscillate,

	"cycle":    runCycle,
	"churn":    runMeetings,
	"locality": runMeetings,
	"transfer": runTransfer,

	"savina_count":     runSavinaCount,
	"savina_fjcreate":  runSavinaFjcreate,
	"savina_big":       runSavinaBig,
	"savina_bndbuffer": runSavinaBndbuffer,
	"savina_banking":   runSavinaBanking,
}

func main() {
	a := parseArguments()
	run, ok := suite[a.workload]
	if !ok {
		fmt.Fprintf(os.Stderr, "bench: no workload '%s'\n", a.workload)
		os.Exit(2)
	}
	runtime.GOMAXPROCS(a.p)
	observer.FromEnvironment()
	for i := 0; i < a.reps; i++ {
		m := run(a)
		fmt.Printf("{\"peer\":\"go\",\"workload\":%q,\"p\":%d,\"n\":%d,\"k\":%d,\"cap\":%d,\"version\":%q%s}\n",
			a.workload, a.p, a.n, a.k, a.cap, runtime.Version(), m.text)
	}
}
