//go:build !linux

package stack

import "os/exec"

// startTied starts a process. Only Linux ties it to this one; elsewhere it is ended by Close alone.
func startTied(cmd *exec.Cmd) (ended chan struct{}, err error) {
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	ended = make(chan struct{})
	go func() {
		cmd.Wait()
		close(ended)
	}()
	return ended, nil
}
