package stack

import (
	"os/exec"
	"runtime"
	"syscall"
)

// startTied starts a process that the kernel kills when this one ends. The kernel ties it to the thread that started it, so
// that thread is kept until the process has ended.
func startTied(cmd *exec.Cmd) (ended chan struct{}, err error) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	started := make(chan error, 1)
	ended = make(chan struct{})
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			cmd.Wait()
		}
		close(ended)
	}()
	return ended, <-started
}
