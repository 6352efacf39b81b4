package pgserver

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"
)

// process is a running child of the caller.
type process struct {
	pid   int
	os    *os.Process
	ended chan struct{} // closed once it has ended and been waited for
	err   error         // how it ended; read it after ended is closed
}

// startProcess starts a command that ends when the caller does.
//
// The kernel sends the death signal when the thread ends that started the
// child, and Go ends threads as it likes. So the goroutine that starts the
// child keeps its thread until the child has ended.
func startProcess(cmd *exec.Cmd) (*process, error) {
	dieWithParent(cmd.SysProcAttr)
	p := &process{ended: make(chan struct{})}
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		if err == nil {
			p.os, p.pid = cmd.Process, cmd.Process.Pid
		}
		started <- err
		if err != nil {
			return
		}
		p.err = cmd.Wait()
		close(p.ended)
	}()
	if err := <-started; err != nil {
		return nil, err
	}
	return p, nil
}

func (p *process) hasEnded() bool {
	select {
	case <-p.ended:
		return true
	default:
		return false
	}
}

// signal does nothing when the process has ended by itself.
func (p *process) signal(signal syscall.Signal) {
	_ = p.os.Signal(signal)
}

// freeze stops the main process first: after that no child is new.
func (p *process) freeze() error { return p.signalAll(syscall.SIGSTOP) }

func (p *process) thaw() error { return p.signalAll(syscall.SIGCONT) }

// signalAll signals the main process and then each of its children. A child
// that ends meanwhile is left out.
func (p *process) signalAll(signal syscall.Signal) error {
	if err := p.os.Signal(signal); err != nil {
		return fmt.Errorf("signalling postgres: %w", err)
	}
	pids, err := children(p.pid)
	if err != nil {
		return fmt.Errorf("listing the server's processes: %w", err)
	}
	for _, pid := range pids {
		if err := syscall.Kill(pid, signal); err != nil && !errors.Is(err, syscall.ESRCH) {
			return fmt.Errorf("signalling process %d of postgres: %w", pid, err)
		}
	}
	return nil
}

// alive reports whether a process with this id exists.
func alive(pid int) bool {
	return !errors.Is(syscall.Kill(pid, 0), syscall.ESRCH)
}
