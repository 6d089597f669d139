package main

import (
	"io"
	"net"
	"net/http"
	"time"
)

const greeting = "Hello, world!\n"

// serveHTTP answers every request with the same few bytes, as weft_http_server.cc does, with the limits that it has.
func serveHTTP(listener net.Listener) {
	server := http.Server{
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       60 * time.Second,
		WriteTimeout:      10 * time.Second,
		MaxHeaderBytes:    16 << 10,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/plain")
			io.WriteString(w, greeting)
		}),
	}
	fail(server.Serve(listener))
}
