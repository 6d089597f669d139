//go:build go1.25

package observer

import (
	"io"
	"runtime/trace"
	"time"
)

// RecorderName says what is measured.
const RecorderName = "flight recorder"

func startRecorder() error {
	return trace.NewFlightRecorder(trace.FlightRecorderConfig{}).Start()
}

// Record calls work while everything is recorded, and returns a function that writes the recording.
func Record(work func()) (write func(io.Writer) error, err error) {
	recorder := trace.NewFlightRecorder(trace.FlightRecorderConfig{MinAge: time.Hour, MaxBytes: 1 << 30})
	if err := recorder.Start(); err != nil {
		return nil, err
	}
	work()
	return func(to io.Writer) error {
		_, err := recorder.WriteTo(to)
		return err
	}, nil
}
