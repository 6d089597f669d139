//go:build !go1.25

package observer

import (
	"bytes"
	"io"
	"runtime/trace"
)

// RecorderName says what is measured.
const RecorderName = "execution tracer"

func startRecorder() error {
	return trace.Start(io.Discard)
}

// Record calls work while everything is recorded, and returns a function that writes the recording.
func Record(work func()) (write func(io.Writer) error, err error) {
	var whole bytes.Buffer
	if err := trace.Start(&whole); err != nil {
		return nil, err
	}
	work()
	return func(to io.Writer) error {
		trace.Stop()
		_, err := whole.WriteTo(to)
		return err
	}, nil
}
