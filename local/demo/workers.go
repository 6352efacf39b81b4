package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

var errNoPython = errors.New("no python3 found; install it (Debian: apt-get install python3)")

// workers are the two worker processes. They are stopped with SIGTERM, and die with this process.
type workers struct {
	dir   string
	procs []*exec.Cmd
}

func startWorkers(ctx context.Context, url string, log *os.File) (*workers, error) {
	python, err := exec.LookPath("python3")
	if err != nil {
		return nil, errNoPython
	}
	dir, err := os.MkdirTemp("", "orrery-demo-")
	if err != nil {
		return nil, err
	}
	w := &workers{dir: dir}
	binary := filepath.Join(dir, "orders-go")
	build := exec.CommandContext(ctx, "go", "build", "-o", binary, "./local/examples/orders/go")
	if out, err := build.CombinedOutput(); err != nil {
		w.stop()
		return nil, fmt.Errorf("build the Go worker: %w\n%s", err, out)
	}
	for _, cmd := range []*exec.Cmd{
		exec.Command(binary, "-url", url),
		exec.Command(python, "local/examples/orders/python/worker.py", "--url", url),
	} {
		cmd.Stdout, cmd.Stderr = log, log
		cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
		if err := cmd.Start(); err != nil {
			w.stop()
			return nil, fmt.Errorf("start a worker: %w", err)
		}
		w.procs = append(w.procs, cmd)
	}
	return w, nil
}

// stop lets the workers drain for a few seconds and returns when they are gone.
func (w *workers) stop() {
	for _, p := range w.procs {
		p.Process.Signal(syscall.SIGTERM)
	}
	for _, p := range w.procs {
		late := time.AfterFunc(5*time.Second, func() { p.Process.Kill() })
		p.Wait()
		late.Stop()
	}
	os.RemoveAll(w.dir)
}
