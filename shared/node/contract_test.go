package node_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/orrery-dev/orrery/shared/wire"
)

// TestContractsInACluster: what is registered at one node holds in all of them, for executions that run already, and what is
// taken away holds no more.
func TestContractsInACluster(t *testing.T) {
	s := newSystem(t)
	a, b := s.run("a"), s.run("b")
	s.publish(a, "pay", `{"StartAt":"Go","States":{"Go":{"Type":"Task","Resource":"signal:go","ResultPath":"$.n","Next":"Pay"},
		"Pay":{"Type":"Task","Resource":"task:work","End":true}}}`)
	session := s.register(a, "w")
	names := []string{"one", "two", "three", "four", "five", "six"} // some in the partitions of each node
	for i, name := range names {
		s.start([]*process{a, b}[i%2], "pay", name)
	}
	signal := func(name, payload string) {
		t.Helper()
		if _, err := a.Signal(t.Context(), caller, name, "go", wire.SignalRequest{Payload: json.RawMessage(payload)}); err != nil {
			t.Fatal(err)
		}
	}
	failure := func(name string) string {
		t.Helper()
		if status := s.end(a, name); status != wire.Failed {
			t.Errorf("%s is %s", name, status)
			return ""
		}
		r, err := a.Result(t.Context(), caller, name, wire.ResultQuery{})
		if err != nil {
			t.Fatal(err)
		}
		return r.Error.Code + ": " + r.Error.Message
	}
	work := wire.Contract{Task: "work", Version: 1}
	register := wire.ContractRequest{
		Input: json.RawMessage(`{"properties":{"n":{"type":"integer"}}}`), Output: json.RawMessage(`{"type":"object"}`),
	}
	if _, created, err := a.SetContract(t.Context(), caller, work, register); err != nil || !created {
		t.Fatalf("created %v, %v", created, err)
	}
	for _, name := range names[:2] {
		var got string
		for i := 0; got == ""; i++ { // the other node hears of it within a moment
			probe := name
			if i > 0 {
				probe = name + strings.Repeat("+", i)
				s.start([]*process{a, b}[i%2], "pay", probe)
			}
			signal(probe, `"text"`)
			s.await("the fate of "+probe, func() bool {
				d, err := a.GetExecution(t.Context(), caller, probe)
				return err == nil && (d.Status.Ended() || len(d.Units) == 1 && d.Units[0].Key == "Pay")
			})
			if d, err := a.GetExecution(t.Context(), caller, probe); err == nil && d.Status.Ended() {
				got = failure(probe)
			}
		}
		if got != "Orrery.InvalidInput: The input of the task does not fit the schema at /n (type)." {
			t.Errorf("%s: %s", name, got)
		}
	}
	done := func(name, output string) {
		t.Helper()
		signal(name, `7`)
		var token string
		s.await("the task of "+name, func() bool {
			got, err := b.Poll(t.Context(), caller, wire.PollRequest{SessionID: session, MaxTasks: 1, WaitMS: 100, PollID: "p" + name})
			for _, x := range got.Assignments {
				if x.Execution == name {
					token = x.Token
				} else if _, err := b.Complete(t.Context(), caller, wire.CompleteRequest{Reports: []wire.Completion{{Token: x.Token, Output: json.RawMessage(`{}`)}}}); err != nil {
					t.Fatal(err)
				}
			}
			return err == nil && token != ""
		})
		if _, err := b.Complete(t.Context(), caller, wire.CompleteRequest{Reports: []wire.Completion{{Token: token, Output: json.RawMessage(output)}}}); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range names[2:4] {
		done(name, `"done"`)
		if got := failure(name); got != "Orrery.InvalidOutput: The output of the task does not fit the schema at / (type)." {
			t.Errorf("%s: %s", name, got)
		}
	}
	if _, err := b.DeleteContract(t.Context(), caller, work); err != nil {
		t.Fatal(err)
	}
	s.await("an output without a schema", func() bool {
		name := "late"
		s.start(b, "pay", name)
		done(name, `"done"`)
		return s.end(b, name) == wire.Succeeded
	})
}
