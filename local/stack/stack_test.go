package stack

import (
	"errors"
	"net"
	"net/url"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/orrery-dev/orrery/shared/storetest"
	"github.com/orrery-dev/orrery/shared/wire"
	"github.com/orrery-dev/orrery/shared/worker"
)

// TestCloseLeavesNothing runs a stack with a server of its own, and looks for what is left of it afterwards.
func TestCloseLeavesNothing(t *testing.T) {
	t.Parallel()
	s, err := Start(t.Context(), Options{Root: "../..", Output: t.Output()})
	if err != nil {
		t.Fatal(err)
	}
	pids := []int{s.server.Pid(), s.Nodes[0].Pid(), s.Nodes[1].Pid()}
	if err := s.Nodes[1].Signal(syscall.SIGSTOP); err != nil { // it cannot leave cleanly
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	for _, pid := range pids {
		if err := syscall.Kill(pid, 0); !errors.Is(err, syscall.ESRCH) {
			t.Errorf("process %d is left: %v", pid, err)
		}
	}
	for _, address := range []string{s.URL, s.Nodes[0].URL, s.Nodes[1].URL, s.DatabaseURL} {
		u, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		if c, err := net.Dial("tcp", u.Host); err == nil {
			c.Close()
			t.Errorf("somebody still listens on %s", u.Host)
		}
	}
	if _, err := os.Stat(s.dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the folder of the binaries is left: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Errorf("closing again: %v", err)
	}
}

// TestFailedStartLeavesNothing: a gateway that cannot listen ends what was started before it.
func TestFailedStartLeavesNothing(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	database := storetest.Database(t)
	s, err := Start(t.Context(), Options{
		Root: "../..", NodeBinary: nodeBinary(t), DatabaseURL: database.Config().ConnString(), Listen: taken.Addr().String(), Output: t.Output(),
	})
	if s != nil || !errors.Is(err, syscall.EADDRINUSE) {
		t.Fatalf("got %v, %v", s, err)
	}
	var left, connected int
	if err := database.QueryRow(t.Context(), `
		select (select count(*) from orrery.node where ended = 'left'),
		       (select count(*) from pg_stat_activity where datname = current_database() and application_name like 'orrery-%')`,
	).Scan(&left, &connected); err != nil {
		t.Fatal(err)
	}
	if left != 2 || connected != 0 {
		t.Errorf("%d of 2 nodes have left, %d connections are open", left, connected)
	}
}

// TestUnderTheEmulator runs executions of every kind with all calls through Lambda binaries.
func TestUnderTheEmulator(t *testing.T) {
	t.Parallel()
	s := newSystem(t, Options{Nodes: 1, RIE: true, Instances: 2})
	s.publish("mix", MixDocument)
	l := newLedger()
	w := worker.New(s.workerConfig("emulated", s.URL))
	l.handle(w, MixWork)
	stop := s.work(w)
	mix := s.mix(8)
	for i := range mix {
		mix[i].at = s.functions
	}
	s.start(mix)
	for i := 1; i < len(mix); i += 4 {
		s.signal(s.functions, mix[i].Name, i)
	}
	s.awaitEnd(time.Minute)
	l.check(s, s.checkMix(mix))
	var c wire.CancelResponse
	s.start([]starting{{wire.StartRequest{Workflow: "mix", Name: "cancelled", Input: mix[1].Input}, s.functions}})
	s.call(s.functions, "POST", wire.Path("executions", "cancelled", "cancel"), wire.CancelRequest{Reason: "enough"}, &c)
	if !c.Confirmed || c.Execution.Status != wire.Cancelled {
		t.Errorf("cancel: %+v", c)
	}
	stop()
	var workers wire.WorkerList
	s.call(s.functions, "GET", wire.Path("workers"), nil, &workers)
	if len(workers.Workers) != 0 {
		t.Errorf("workers are left: %+v", workers)
	}
}
