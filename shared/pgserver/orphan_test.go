package pgserver

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// childMode in the environment makes the test binary a program that starts a
// server, prints its pids and folder and then waits to be killed.
const childMode = "PGSERVER_TEST_CHILD"

func TestMain(m *testing.M) {
	if os.Getenv(childMode) != "" {
		child()
	}
	os.Exit(m.Run())
}

func child() {
	s, err := Start(context.Background(), Options{Volatile: true})
	if err != nil {
		fmt.Println("error:", err)
		os.Exit(1)
	}
	b, err := s.StartBouncer(context.Background(), 1)
	if err != nil {
		fmt.Println("error:", err)
		os.Exit(1)
	}
	fmt.Println(s.Pid(), b.process.pid, s.folder.path, b.folder.path)
	select {}
}

// orphan is what a caller killed with SIGKILL leaves behind.
type orphan struct {
	postgres, bouncer             int // pids
	children                      []int
	postgresFolder, bouncerFolder string
}

// newOrphan runs a child until its servers run, calls each function given
// and kills the child.
func newOrphan(t *testing.T, before ...func(orphan)) orphan {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childMode+"=1")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		cmd.Process.Kill()
		cmd.Wait()
	}()
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	var o orphan
	if _, err := fmt.Sscan(line, &o.postgres, &o.bouncer, &o.postgresFolder, &o.bouncerFolder); err != nil {
		t.Fatalf("child said %q: %v", line, err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			syscall.Kill(o.postgres, syscall.SIGQUIT)
			syscall.Kill(o.bouncer, syscall.SIGKILL)
		}
		os.RemoveAll(o.postgresFolder)
		os.RemoveAll(o.bouncerFolder)
	})
	if o.children, err = children(o.postgres); err != nil || len(o.children) == 0 {
		t.Fatalf("children of the server: %v, %v, want some", o.children, err)
	}
	for _, f := range before {
		f(o)
	}
	return o
}

func TestKilledCallerLeavesNoProcess(t *testing.T) {
	t.Parallel()
	o := newOrphan(t)
	for _, pid := range append(o.children, o.postgres, o.bouncer) {
		awaitGone(t, pid)
	}
}

func TestSweepRemovesWhatAKilledCallerLeft(t *testing.T) {
	t.Parallel()
	old := time.Now().Add(-time.Hour)
	age := func(o orphan) {
		for _, path := range []string{o.postgresFolder, o.bouncerFolder} {
			if err := os.Chtimes(path, old, old); err != nil {
				t.Fatal(err)
			}
		}
	}
	owned := func(o orphan) {
		age(o)
		for _, path := range []string{o.postgresFolder, o.bouncerFolder} {
			sweep(filepath.Dir(path))
			if _, err := os.Stat(path); err != nil {
				t.Errorf("the sweep took a folder that has an owner: %v", err)
			}
		}
	}
	o := newOrphan(t, owned)
	awaitGone(t, o.postgres)
	awaitGone(t, o.bouncer)

	// Tests that run at the same time sweep, too: a folder that one of them
	// has begun with is left to it.
	for _, path := range []string{o.postgresFolder, o.bouncerFolder} {
		for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(5 * time.Millisecond) {
			sweep(filepath.Dir(path))
			if _, err := os.Stat(path); os.IsNotExist(err) {
				break
			}
			if time.Now().After(deadline) {
				t.Fatalf("%s is still there after the sweep", path)
			}
		}
	}
}

func TestSweepEndsAServerWithoutOwner(t *testing.T) {
	t.Parallel()
	s := start(t, Options{Volatile: true})
	pid := s.Pid()
	s.folder.lock.Close() // as if the owner had gone, on a system without a death signal
	sweepFolder(s.folder.path)
	awaitGone(t, pid)
	if _, err := os.Stat(s.folder.path); !os.IsNotExist(err) {
		t.Errorf("the folder after the sweep: %v, want it gone", err)
	}
}

func TestSweepLeavesYoungFolders(t *testing.T) {
	t.Parallel()
	parent := t.TempDir()
	path := filepath.Join(parent, folderPrefix+"young")
	if err := os.Mkdir(path, 0o700); err != nil {
		t.Fatal(err)
	}
	sweep(parent)
	if _, err := os.Stat(path); err != nil {
		t.Errorf("a folder that its owner is about to lock: %v, want it left", err)
	}
	old := time.Now().Add(-2 * time.Minute)
	if err := os.Chtimes(path, old, old); err != nil {
		t.Fatal(err)
	}
	sweep(parent)
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Errorf("an old folder that nobody locked: %v, want it gone", err)
	}
}
