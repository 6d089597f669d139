// The servers in Go, called as bench/net/server/server_options.h says: a goroutine for each connection, default settings.
package main

import (
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"strconv"
	"strings"

	"observing/observer"
)

type options struct {
	p        int
	buffer   int
	unixPath string // empty: TCP
}

func fail(what any) {
	fmt.Fprintln(os.Stderr, "servers:", what)
	os.Exit(1)
}

func parse(arguments []string) options {
	o := options{p: 1, buffer: 8192}
	for i := 0; i+1 < len(arguments); i += 2 {
		value := arguments[i+1]
		var err error
		switch arguments[i] {
		case "--p":
			o.p, err = strconv.Atoi(value)
		case "--buffer":
			o.buffer, err = strconv.Atoi(value)
		case "--listen":
			path, isUnix := strings.CutPrefix(value, "unix:")
			if isUnix {
				o.unixPath = path
			}
		default:
			fail("what is " + arguments[i] + "?")
		}
		if err != nil {
			fail(err)
		}
	}
	return o
}

// listen says where the server is, and has the process end with its standard input.
func listen(o options) net.Listener {
	network, at := "tcp", "127.0.0.1:0"
	if o.unixPath != "" {
		network, at = "unix", o.unixPath
	}
	listener, err := net.Listen(network, at)
	if err != nil {
		fail(err)
	}
	address := listener.Addr().String()
	if o.unixPath != "" {
		address = "unix:" + o.unixPath
	}
	fmt.Printf("{\"peer\":\"go\",\"version\":%q,\"address\":%q}\n", runtime.Version(), address)
	go func() {
		io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	return listener
}

func main() {
	if len(os.Args) < 2 || len(os.Args)%2 != 0 {
		fail("usage: echo|http --p P --listen tcp|unix:PATH [--buffer BYTES]")
	}
	o := parse(os.Args[2:])
	runtime.GOMAXPROCS(o.p)
	observer.FromEnvironment()
	switch os.Args[1] {
	case "echo":
		serveEcho(listen(o), o.buffer)
	case "http":
		serveHTTP(listen(o))
	default:
		fail("there is echo, and http")
	}
}
