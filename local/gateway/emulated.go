//go:build linux

package gateway

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/orrery-dev/orrery/shared/lambdahttp"
	"github.com/orrery-dev/orrery/shared/telemetry"
)

const (
	// startTime is how long an emulator has until it listens, and, within a call, to start the function.
	startTime = 15 * time.Second
	// stopTime is how long an emulator has to end its function and itself before it is killed, and the function with it by
	// the death signal of bootwrap.
	stopTime = 2 * time.Second
	// endTime is how long the function is waited for after the emulator has ended.
	endTime = 5 * time.Second
)

// emulated is an emulator process with its function's process as its child. A second call while one runs ends the
// emulator, so the pool's promise of one call at a time matters here.
type emulated struct {
	function Function
	process  *process
	url      string
	client   *http.Client
	ending   atomic.Bool // it must not get another call
}

func (e *Emulator) start(f Function, bootstrap string, environment []string, log *slog.Logger) (instance, error) {
	address, err := nextAddress()
	if err != nil {
		return nil, err
	}
	runtimeAPI, err := nextAddress() // where the function asks for work
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(e.binary, "--log-level", "error", "--runtime-interface-emulator-address", address,
		"--runtime-api-address", runtimeAPI, e.wrap, bootstrap)
	cmd.Dir = filepath.Dir(bootstrap)
	cmd.Env = environment
	out := &lineWriter{log: log, function: f.Name}
	cmd.Stdout, cmd.Stderr = out, out
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Setpgid:   true, // an interrupt from the terminal is the gateway's, which then ends its pools
		Pdeathsig: syscall.SIGKILL,
	}
	// The function inherits the pipe of the output, so its end is that of both processes; startProcess waits for it.
	cmd.WaitDelay = endTime
	p, err := startProcess(cmd)
	if err != nil {
		return nil, err
	}
	i := &emulated{
		function: f, process: p, url: "http://" + address + "/2015-03-31/functions/function/invocations",
		client: &http.Client{Transport: &http.Transport{}, Timeout: f.Timeout + startTime},
	}
	if err := errors.Join(i.awaitListening(address), i.awaitListening(runtimeAPI)); err != nil {
		i.stop()
		return nil, err
	}
	return i, nil
}

func (i *emulated) awaitListening(address string) error {
	late := time.After(startTime)
	for {
		conn, err := net.Dial("tcp", address)
		if err == nil {
			return conn.Close()
		}
		select {
		case <-i.process.ended:
			return fmt.Errorf("the emulator ended: %v", i.process.cmd.ProcessState)
		case <-late:
			return fmt.Errorf("the emulator does not listen: %w", err)
		case <-time.After(2 * time.Millisecond):
		}
	}
}

// taskTimedOut is how the emulator begins its text, with status 200, when the function's time is over.
var taskTimedOut = []byte("Task timed out after ")

// invoke makes a call. Whenever the emulator does more than pass a result on, it is not trusted with another one.
func (i *emulated) invoke(event []byte) ([]byte, error) {
	resp, err := i.client.Post(i.url, "application/json", bytes.NewReader(event))
	if err != nil {
		i.ending.Store(true)
		var op *net.OpError
		switch {
		case errors.As(err, &op) && op.Op == "dial":
			return nil, errGone
		case os.IsTimeout(err):
			return nil, ErrTimeout
		}
		return nil, fmt.Errorf("calling the emulator: %w", err)
	}
	defer resp.Body.Close()
	result, err := io.ReadAll(io.LimitReader(resp.Body, 2*lambdahttp.MaxPayload))
	switch {
	case err != nil:
		i.ending.Store(true)
		return nil, fmt.Errorf("reading from the emulator: %w", err)
	case bytes.HasPrefix(result, taskTimedOut):
		i.ending.Store(true)
		return nil, ErrTimeout
	case resp.StatusCode != http.StatusOK:
		i.ending.Store(true)
		if err := functionError(result); err != nil {
			return nil, err
		}
		return nil, fmt.Errorf("the emulator answers %s: %.200q", resp.Status, result)
	}
	if err := functionError(result); err != nil {
		return nil, err
	}
	return result, nil
}

// functionError reads the error of a function, nil when the result is none. The emulator does not mark errors otherwise
// than by their form.
func functionError(result []byte) error {
	var e struct {
		ErrorType    *string
		ErrorMessage *string
		StatusCode   *int
	}
	if json.Unmarshal(result, &e) != nil || e.ErrorType == nil || e.ErrorMessage == nil || e.StatusCode != nil {
		return nil
	}
	return &FunctionError{*e.ErrorType, *e.ErrorMessage}
}

func (i *emulated) usable() bool { return !i.ending.Load() && !i.process.hasEnded() }

// stop ends both processes. Asked to, the emulator ends its function first.
func (i *emulated) stop() {
	i.ending.Store(true)
	i.process.stop(stopTime)
	i.client.CloseIdleConnections()
}

// lastPort counts the ports that emulators of this process were given.
var lastPort atomic.Uint32

// nextAddress gives an address to listen on that nobody else has. Every process on the machine has a loopback address of
// its own here, made of its id, and counts ports on it. To have the kernel choose a port and let go of it again would now
// and then give one port to two emulators, of which one ends and the other gets the requests of both.
func nextAddress() (string, error) {
	pid := os.Getpid()
	ip := net.IPv4(127, byte(64+pid>>16), byte(pid>>8), byte(pid)).String()
	var err error
	for range 100 {
		address := net.JoinHostPort(ip, strconv.Itoa(10000+int(lastPort.Add(1)%50000)))
		var l net.Listener
		if l, err = net.Listen("tcp", address); err == nil {
			return address, l.Close()
		}
	}
	return "", fmt.Errorf("looking for a port: %w", err)
}

// maxLine bounds a line of a function's log.
const maxLine = 64 << 10

// lineWriter logs what is written to it by lines. One goroutine writes.
type lineWriter struct {
	log      *slog.Logger
	function string
	rest     []byte // of a line without its end
}

func (w *lineWriter) Write(p []byte) (int, error) {
	w.rest = append(w.rest, p...)
	for {
		n := bytes.IndexByte(w.rest, '\n')
		if n < 0 && len(w.rest) < maxLine {
			return len(p), nil
		}
		if n < 0 {
			n = maxLine - 1
		}
		if line := bytes.TrimRight(w.rest[:n+1], "\t\r\n "); len(line) > 0 {
			w.log.Debug("function log", telemetry.KeyFunction, w.function, telemetry.KeyLine, string(line))
		}
		w.rest = w.rest[n+1:]
	}
}
