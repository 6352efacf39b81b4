package stack

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"sync"
	"time"
)

// Node is a process of the node's binary.
type Node struct {
	ID string
	// URL is the node's API; the same over restarts.
	URL string

	binary string
	stack  *Stack

	mu    sync.Mutex
	cmd   *exec.Cmd
	ended chan struct{} // closed when cmd has ended
}

// Start runs the process, also again after Kill or Stop.
func (n *Node) Start() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	listen, err := n.address()
	if err != nil {
		return err
	}
	cmd := exec.Command(n.binary)
	cmd.Env = append(os.Environ(), "DATABASE_URL="+n.databaseURL(), "ORRERY_NODE_ID="+n.ID, "ORRERY_LISTEN="+listen)
	if t := n.stack.options.SessionTimeout; t > 0 {
		cmd.Env = append(cmd.Env, "ORRERY_SESSION_TIMEOUT="+t.String())
	}
	cmd.Env = append(cmd.Env, n.stack.options.NodeSettings...)
	cmd.Stdout, cmd.Stderr = n.stack.options.Output, n.stack.options.Output
	ended, err := startTied(cmd)
	if err != nil {
		return fmt.Errorf("start %s: %w", n.ID, err)
	}
	n.cmd, n.ended = cmd, ended
	return nil
}

func (n *Node) databaseURL() string {
	return cmp.Or(n.stack.options.NodeDatabaseURL(n.ID), n.stack.DatabaseURL)
}

// address picks a free port at the first start.
func (n *Node) address() (string, error) {
	if n.URL != "" {
		return n.URL[len("http://"):], nil
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	n.URL = "http://" + l.Addr().String()
	return l.Addr().String(), nil
}

// Pid is the process id of the last start.
func (n *Node) Pid() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.cmd.Process.Pid
}

// WaitReady waits until the node says that it is ready, at most 30 s.
func (n *Node) WaitReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	n.mu.Lock()
	ended := n.ended
	n.mu.Unlock()
	for {
		if n.ready(ctx) {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s is not ready: %w", n.ID, ctx.Err())
		case <-ended:
			return fmt.Errorf("%s has ended instead of being ready", n.ID)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

func (n *Node) ready(ctx context.Context) bool {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, n.URL+"/v1/ready", nil)
	if err != nil {
		return false
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return false
	}
	resp.Body.Close()
	return resp.StatusCode == http.StatusOK
}

// Kill ends the process as a crash does, and returns when it is gone.
func (n *Node) Kill() error { return n.end(os.Kill, 0) }

// Stop asks the process to leave the cluster cleanly, and kills it when it has not within 10 s.
func (n *Node) Stop() error { return n.end(os.Interrupt, 10*time.Second) }

// Signal sends a signal, such as SIGSTOP.
func (n *Node) Signal(sig os.Signal) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.cmd.Process.Signal(sig)
}

func (n *Node) end(sig os.Signal, patience time.Duration) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.cmd == nil {
		return nil
	}
	if err := n.cmd.Process.Signal(sig); err != nil {
		select {
		case <-n.ended:
			return nil
		default:
			return fmt.Errorf("signal %s: %w", n.ID, err)
		}
	}
	if patience > 0 {
		late := time.AfterFunc(patience, func() { n.cmd.Process.Kill() })
		defer late.Stop()
	}
	<-n.ended
	return nil
}
