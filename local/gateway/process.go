//go:build linux

package gateway

import (
	"os/exec"
	"runtime"
	"syscall"
	"time"
)

// process is a running child.
type process struct {
	cmd   *exec.Cmd
	ended chan struct{} // closed once it has ended, with its output
}

// startProcess starts a command that ends when this process does, if its SysProcAttr says so.
//
// The kernel sends the death signal when the thread ends that started the child, and Go ends threads as it likes. So the
// goroutine that starts the child keeps its thread until the child has ended.
func startProcess(cmd *exec.Cmd) (*process, error) {
	p := &process{cmd: cmd, ended: make(chan struct{})}
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			_ = cmd.Wait() // how it ended is in cmd.ProcessState
			close(p.ended)
		}
	}()
	if err := <-started; err != nil {
		return nil, err
	}
	return p, nil
}

// stop asks the process to end, kills it when it has not within the time, and returns when it has ended.
func (p *process) stop(patience time.Duration) {
	_ = p.cmd.Process.Signal(syscall.SIGTERM) // an error means that it has ended
	select {
	case <-p.ended:
	case <-time.After(patience):
		_ = p.cmd.Process.Kill()
		<-p.ended
	}
}

func (p *process) hasEnded() bool {
	select {
	case <-p.ended:
		return true
	default:
		return false
	}
}
