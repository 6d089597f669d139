// Package observer starts what BENCH_OBSERVE names, as bench/observe/observer.h does for weft.
//
//	BENCH_OBSERVE=recorder       Go's flight recorder; before Go 1.25 its execution tracer, which writes to nowhere
//	BENCH_OBSERVE=cpu_profiler   the CPU profiler at 100 Hz, which writes to nowhere
package observer

import (
	"fmt"
	"io"
	"os"
	"runtime/pprof"
)

// FromEnvironment observes the process until it ends. Ends it with exit code 2 if the name is unknown.
func FromEnvironment() {
	var err error
	switch wanted := os.Getenv("BENCH_OBSERVE"); wanted {
	case "":
	case "recorder":
		err = startRecorder()
	case "cpu_profiler":
		err = pprof.StartCPUProfile(io.Discard)
	default:
		err = fmt.Errorf("BENCH_OBSERVE=%s: unknown; use recorder or cpu_profiler", wanted)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(2)
	}
}
