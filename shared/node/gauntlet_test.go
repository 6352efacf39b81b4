package node_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/orrery-dev/orrery/shared/node"
	"github.com/orrery-dev/orrery/shared/wire"
)

// ledger is what workers have done, by idempotency key.
type ledger struct {
	mu   sync.Mutex
	done map[string]string
}

// note writes down an effect and tells how many there are.
func (l *ledger) note(a wire.Assignment) int {
	role := "child"
	if a.Execution == "g" {
		role = "main"
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.done[a.IdempotencyKey] = role + " " + a.Unit
	return len(l.done)
}

// TestGauntlet takes the document that has every construct through a real database, and kills its owner after some of its effects:
// the effects are those of an execution to which nothing happens. TestCrashAtEveryCommit does so in memory, for every commit.
func TestGauntlet(t *testing.T) {
	t.Parallel()
	want := strings.Fields(`child.Load child.Send child.Send child.Send main./Cleanup/Tidy main./OnSignal/note[0]/Note
		main./OnSignal/note[0]/Note/Compensate main.Both[0]/Charge main.Both[0]/Charge/Compensate main.Break main.Confirm/Submit
		main.Each[0]/Pack main.Each[0]/Pack/Compensate main.Each[1]/Pack main.Each[1]/Pack/Compensate main.Each[2]/Pack
		main.Each[2]/Pack/Compensate main.Reserve main.Reserve/Compensate main.Ship/Compensate`)
	s := newSystem(t)
	g := &gauntletRun{system: s, ledger: ledger{done: map[string]string{}}, live: []*process{s.run("a"), s.run("b")}, killAt: []int{4, 15}}
	p := g.pick(0)
	s.publish(p, "ship", node.GauntletChild)
	s.publish(p, "gauntlet", node.Gauntlet)
	if _, _, err := p.Start(t.Context(), caller, wire.StartRequest{Workflow: "gauntlet", Name: "g", Input: json.RawMessage(`{"items":[1,2,3]}`)}); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"note", "go"} {
		if _, err := p.Signal(t.Context(), caller, "g", name, wire.SignalRequest{Payload: json.RawMessage(`{"n":1}`)}); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	var worker sync.WaitGroup
	worker.Go(func() { g.work(ctx) })
	for end := time.Now().Add(2 * time.Minute); s.count("select status from orrery.execution where name = 'g'") == 1; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Error("it does not end")
			break
		}
	}
	cancel()
	worker.Wait()
	g.others.Wait()
	r := s.result(g.pick(0), "g")
	if r.Status != wire.Failed || r.Error.Code != "Broken" {
		t.Errorf("%s %+v", r.Status, r.Error)
	}
	got := slices.Sorted(maps.Values(g.ledger.done))
	for i := range got {
		got[i] = strings.Replace(got[i], " ", ".", 1)
	}
	if !slices.Equal(got, want) || len(g.killAt) != 0 {
		t.Errorf("effects %v\nwant %v", got, want)
	}
	if n := s.count("select count(*) from orrery.execution where status = 2"); n != 4 {
		t.Errorf("%d executions have succeeded, want 4", n)
	}
	s.checkHistories()
}

// gauntletRun is an execution of the gauntlet with the nodes that it outlives.
type gauntletRun struct {
	*system
	ledger ledger
	mu     sync.Mutex
	live   []*process
	killAt []int // after how many effects a node is killed
	others sync.WaitGroup
}

func (g *gauntletRun) pick(i int) *process {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.live[i%len(g.live)]
}

// kill kills the owner of the execution when it is time for that, and runs another node.
func (g *gauntletRun) kill(effects int) {
	if len(g.killAt) == 0 || effects < g.killAt[0] {
		return
	}
	g.killAt = g.killAt[1:]
	owner := g.count("select p.fence from orrery.execution e join orrery.partition p on p.id = e.partition where e.name = 'g'")
	next := g.begin(fmt.Sprint("n", effects))
	g.mu.Lock()
	defer g.mu.Unlock()
	for i, p := range g.live {
		if g.count("select coalesce(max(fence), 0) from orrery.node where id = $1 and ended is null", p.node.Health().Node.ID) == owner {
			p.node.Kill()
			g.live[i] = next
		}
	}
}

// work does tasks until the context ends. After an error it registers anew, and what was under way to it is given out again.
func (g *gauntletRun) work(ctx context.Context) {
	session := ""
	for i := 0; ctx.Err() == nil; {
		if session == "" {
			a, err := g.pick(i).Register(ctx, caller, wire.RegisterRequest{WorkerID: "w", Contracts: []wire.Contract{{Task: "work", Version: 1}}})
			if err != nil {
				time.Sleep(20 * time.Millisecond)
				i++
				continue
			}
			session = a.SessionID
		}
		got, err := g.pick(i).Poll(ctx, caller, wire.PollRequest{SessionID: session, MaxTasks: 3, WaitMS: 500, PollID: rand.Text()})
		if err != nil {
			session = ""
			i++
			continue
		}
		for _, a := range got.Assignments {
			g.kill(g.ledger.note(a))
			if a.Unit == "Break" { // it is over when everything beside the main flow is
				g.others.Go(func() { g.report(ctx, a) })
			} else {
				g.report(ctx, a)
			}
		}
	}
}

// report reports what became of a task until somebody has taken it.
func (g *gauntletRun) report(ctx context.Context, a wire.Assignment) {
	code := ""
	switch {
	case a.Unit == "Both[0]/Charge" && a.Attempt == 1:
		code = "Busy"
	case a.Unit == "Break":
		g.await("the machine of the signal to end", func() bool {
			d, err := g.pick(0).GetExecution(ctx, caller, "g")
			return ctx.Err() != nil || err == nil && !slices.ContainsFunc(d.Units, func(u wire.Unit) bool { return strings.HasPrefix(u.Key, "/OnSignal") })
		})
		code = "Broken"
	}
	token := ""
	if a.Unit == "Confirm/Submit" {
		var in struct{ Token string }
		if err := json.Unmarshal(a.Input, &in); err != nil {
			g.t.Error(err)
		}
		token = in.Token
	}
	for i := 0; ctx.Err() == nil; i++ {
		p := g.pick(i)
		var err error
		if code != "" {
			_, err = p.Fail(ctx, caller, wire.FailRequest{Reports: []wire.Failure{{Token: a.Token, Error: wire.TaskError{Code: code}}}})
		} else {
			_, err = p.Complete(ctx, caller, wire.CompleteRequest{Reports: []wire.Completion{{Token: a.Token, Output: json.RawMessage(`{"did":true}`)}}})
		}
		if err == nil && token != "" {
			_, err = p.Complete(ctx, caller, wire.CompleteRequest{Reports: []wire.Completion{{Token: token, Output: json.RawMessage(`"yes"`)}}})
		}
		if err == nil {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
}
