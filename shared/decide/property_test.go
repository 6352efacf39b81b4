package decide_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/orrery-dev/orrery/shared/decide"
	"github.com/orrery-dev/orrery/shared/history"
)

// TestProperties runs random documents under random commands. The world checks after every turn that deciding it twice
// gives the same, that the fold of the rows equals the state (I3), and that the rows of the queue are what the open units
// need; here it is checked that an execution never stands still without a reason, and that a snapshot with what follows
// equals the whole fold.
func TestProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := &generator{t: t}
		text := g.document()
		w := newWorld(t, parse(t, text))
		publish(w.workflows, "sub@1", parse(t, sequence(2)))
		w.start(history.Start{Namespace: "ns", Name: "run", Workflow: "wf", Input: g.value(2), Seed: g.seed()})
		saved, at := w.s.Snapshot(), len(w.rows)
		for range rapid.IntRange(1, 40).Draw(t, "turns") {
			checkWaits(t, w, text)
			if w.s.Status().Ended() {
				break
			}
			if rapid.IntRange(0, 9).Draw(t, "save") == 0 {
				saved, at = w.s.Snapshot(), len(w.rows)
			}
			var cmds []history.Command
			for range rapid.IntRange(1, 3).Draw(t, "commands") {
				cmd := g.command(w)
				cmd.Seed = g.seed()
				cmds = append(cmds, cmd)
			}
			reportsFirst(cmds)
			w.handle(cmds...)
		}
		w.handle(history.Command{Kind: history.KindCancel, Seed: g.seed()})
		g.drain(w, text)
		checkSnapshot(t, w, saved, at)
	})
}

// drain takes a cancelled execution to its end: compensations and Cleanup have to be done, everything else is stopped.
func (g *generator) drain(w *world, text string) {
	for n := 0; !w.s.Status().Ended(); n++ {
		checkWaits(g.t, w, text)
		if n > 500 {
			g.t.Fatalf("still %s long after a cancel: %v\n%s", w.s.Status(), w.s.OpenUnits(), text)
		}
		if wake := w.s.WakeAt(); wake != 0 {
			w.now = max(w.now, wake)
		}
		cmds := []history.Command{{Kind: history.KindTimer}}
		for _, u := range w.s.OpenUnits() {
			row, ok := w.s.Row(u.Key)
			switch {
			case ok && u.Status == history.UnitUncertain:
				cmds = append(cmds, history.Command{Kind: history.KindResolve, Row: row, Resolution: history.ResolveCompleted, Output: []byte("1")})
			case ok:
				cmds = append([]history.Command{w.report(history.Command{Kind: history.KindComplete, Row: row, Output: []byte("1")})}, cmds...)
			case u.Signal != "":
				cmds = append(cmds, history.Command{Kind: history.KindSignal, Signal: u.Signal})
			}
		}
		for _, v := range w.s.OpenVisits() {
			if row, ok := v.TokenRow(); ok && w.queue[row] != "done" {
				cmds = append([]history.Command{w.report(history.Command{Kind: history.KindComplete, Row: row, Output: []byte("1")})}, cmds...)
			}
		}
		for _, name := range w.waited() {
			cmds = append([]history.Command{w.ended(name, history.Command{Status: history.Cancelled, Failure: &history.Failure{}})}, cmds...)
		}
		for i := range cmds {
			cmds[i].Seed = g.seed()
		}
		w.handle(cmds...)
	}
}

// reportsFirst does what the node does when a commit is refused: what the rows of the queue tell already, a claim or a
// report, comes before whatever could take the unit away.
func reportsFirst(cmds []history.Command) {
	durable := func(c history.Command) int {
		switch c.Kind {
		case history.KindDispatched:
			return 0
		case history.KindComplete, history.KindFail, history.KindChildEnded:
			return 1
		}
		return 2
	}
	slices.SortStableFunc(cmds, func(a, b history.Command) int { return cmp.Compare(durable(a), durable(b)) })
}

// checkWaits checks that a running execution waits for something that has a name, or for a time.
func checkWaits(t *rapid.T, w *world, text string) {
	switch {
	case w.s.Status().Ended():
		if w.s.WakeAt() != 0 || len(w.s.OpenUnits()) != 0 || len(w.queue) != countCancelled(w) {
			t.Fatalf("ended, but wakes at %d with %v and rows %v", w.s.WakeAt(), w.s.OpenUnits(), w.queue)
		}
	case !w.s.Idle():
		if w.s.WakeAt() > w.now {
			t.Fatalf("has work left, but wakes later")
		}
	case len(w.s.OpenUnits()) == 0:
		t.Fatalf("waits for nothing: %s\n%s", text, w.s.Snapshot())
	}
}

func countCancelled(w *world) (n int) {
	for _, st := range w.queue {
		if st == "cancelled" {
			n++
		}
	}
	return n
}

// checkSnapshot loads the execution from a snapshot taken on the way and the rows after it.
func checkSnapshot(t *rapid.T, w *world, saved []byte, at int) {
	s, err := history.Restore(saved)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, turn := range w.turns {
		if len(turn.Events) == 0 {
			continue
		}
		if n++; n <= at {
			continue
		}
		events, err := history.DecodeEvents(w.rows[n-1])
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Apply(turn.Seq, turn.At, turn.FirstEvent, events); err != nil {
			t.Fatal(err)
		}
	}
	if a, b := w.s.Snapshot(), s.Snapshot(); !bytes.Equal(a, b) {
		t.Fatalf("a snapshot and what follows differ from the whole:\n%s\n%s", a, b)
	}
}

// generator makes documents and commands.
type generator struct {
	t      *rapid.T
	states int
	plain  bool // Cleanup is being made: nothing in it is undone
	seeds  uint64
}

func (g *generator) pick(name string, n int) int { return rapid.IntRange(0, n-1).Draw(g.t, name) }
func (g *generator) chance(name string, in int) bool {
	return g.pick(name, in) == 0
}

// seed never gives the same number twice, so that what is drawn to be unique is.
func (g *generator) seed() uint64 {
	g.seeds++
	return g.seeds<<32 | uint64(rapid.Uint32().Draw(g.t, "seed"))
}

type object = map[string]any

func (g *generator) document() string {
	m := g.machine(0)
	if g.chance("timeout", 4) {
		m["TimeoutSeconds"] = 1 + g.pick("seconds", 100)
	}
	if g.chance("onsignal", 3) {
		m["OnSignal"] = object{"c": g.machine(1)}
	}
	if g.chance("cleanup", 3) {
		g.plain = true
		m["Cleanup"] = g.machine(1)
	}
	text, err := json.Marshal(m)
	if err != nil {
		g.t.Fatal(err)
	}
	return string(text)
}

// machine makes states that go from one to a later one, and sometimes back behind a task, so that nothing runs for ever
// without a command.
func (g *generator) machine(depth int) object {
	names := make([]string, 1+g.pick("states", 4))
	for i := range names {
		g.states++
		names[i] = fmt.Sprintf("S%d", g.states)
	}
	states := object{}
	for i, name := range names {
		states[name] = g.state(names[i+1:], names[:i+1], depth)
	}
	return object{"StartAt": names[0], "States": states}
}

var kinds = []string{"Task", "Task", "Task", "Pass", "Wait", "Choice", "Parallel", "Map", "Signal", "Child", "Token", "Fail", "Succeed"}

func (g *generator) state(later, earlier []string, depth int) object {
	kind := kinds[g.pick("kind", len(kinds))]
	if depth == 2 && (kind == "Parallel" || kind == "Map") || kind == "Choice" && len(later) == 0 {
		kind = "Task"
	}
	if len(later) > 0 && (kind == "Fail" || kind == "Succeed") {
		kind = "Pass"
	}
	st := object{"Type": kind}
	switch kind {
	case "Succeed":
		return st
	case "Fail":
		st["Error"] = g.errorName()
		return st
	case "Choice":
		st["Choices"] = []any{object{"Variable": "$.n", "NumericGreaterThan": g.pick("n", 3), "Next": g.of(later)}}
		st["Default"] = g.of(later)
		return st
	case "Pass":
		g.flow(st)
		if g.chance("assign", 3) {
			st["Assign"] = object{fmt.Sprintf("v%d", depth): g.pick("v", 3)}
		}
	case "Wait":
		st["Seconds"] = g.pick("wait", 4) * 10
	case "Signal":
		st["Type"], st["Resource"] = "Task", "signal:"+string(rune('a'+g.pick("signal", 2)))
		g.limits(st)
	case "Child":
		st["Type"], st["Resource"] = "Task", g.child(st)
		g.limits(st)
		g.undo(st)
		g.handlers(st, later)
	case "Token":
		st["Type"] = "Task"
		st["Resource"] = []string{"task:work.waitForTaskToken", "arn:aws:states:::states:startExecution.waitForTaskToken"}[g.pick("token", 2)]
		st["Parameters"] = object{"StateMachineArn": "sub", "Input": object{"token.$": "$$.Task.Token"}}
		st["ResultSelector"] = object{"n.$": "$", "list": []any{}, "by.$": "$$.Task.Token"}
		g.limits(st)
		g.undo(st)
		g.handlers(st, later)
	case "Task":
		st["Resource"] = "task:work"
		st["MaxRedeliveries"] = g.pick("redeliveries", 3)
		if g.chance("fails", 2) {
			st["WhenUncertain"] = "FAIL"
		}
		if g.chance("queue", 4) {
			st["QueueTimeoutSeconds"] = 1 + g.pick("queue", 50)
		}
		g.limits(st)
		g.flow(st)
		g.undo(st)
	case "Parallel":
		branches := make([]any, 1+g.pick("branches", 3))
		for i := range branches {
			branches[i] = g.machine(depth + 1)
		}
		st["Branches"] = branches
		g.handlers(st, later)
	case "Map":
		st["ItemProcessor"] = g.machine(depth + 1)
		st["ItemsPath"] = "$.list"
		if g.chance("limit", 2) {
			st["MaxConcurrency"] = 1 + g.pick("limit", 2)
		}
		if g.chance("selector", 2) {
			st["ItemSelector"] = object{"n.$": "$$.Map.Item.Index", "list.$": "$.list"}
		}
		g.handlers(st, later)
	}
	if kind == "Task" {
		g.handlers(st, append(later, earlier...))
	}
	if len(later) == 0 {
		st["End"] = true
	} else {
		st["Next"] = later[0]
	}
	return st
}

func (g *generator) undo(st object) {
	if !g.plain && g.chance("compensate", 2) {
		st["Compensate"] = g.compensation()
	}
}

// child makes the resource of a Task that starts an execution.
func (g *generator) child(st object) string {
	kind := g.pick("child", 5)
	if kind > 2 {
		st["Parameters"] = object{"StateMachineArn": []string{"sub@1", "nowhere"}[g.pick("where", 2)], "Input.$": "$"}
	}
	return []string{
		"workflow:sub", "workflow:sub@1", "workflow:nowhere", "arn:aws:states:::states:startExecution", "arn:aws:states:::states:startExecution.sync:2",
	}[kind]
}

func (g *generator) compensation() object {
	if g.chance("by child", 3) {
		return object{"Resource": "workflow:sub"}
	}
	c := object{"Resource": "task:undo", "MaxRedeliveries": g.pick("redeliveries", 2)}
	if g.chance("parameters", 2) {
		c["Parameters"] = object{"result.$": "$.Result", "n": 1}
	}
	if g.chance("retry", 2) {
		c["Retry"] = []any{object{"ErrorEquals": []any{"States.ALL"}, "MaxAttempts": 1, "IntervalSeconds": 1 + g.pick("interval", 10)}}
	}
	if g.chance("deadline", 3) {
		c["TimeoutSeconds"] = 10
	}
	return c
}

func (g *generator) of(names []string) string { return names[g.pick("name", len(names))] }

func (g *generator) errorName() string {
	return []string{"Busy", "Broken", "States.Timeout", "States.TaskFailed"}[g.pick("error", 4)]
}

func (g *generator) limits(st object) {
	if g.chance("deadline", 2) {
		st["TimeoutSeconds"] = 30 + g.pick("deadline", 30)
	}
	if resource, _ := st["Resource"].(string); (resource == "task:work" || strings.HasSuffix(resource, ".waitForTaskToken")) && g.chance("heartbeat", 2) {
		st["HeartbeatSeconds"] = 1 + g.pick("heartbeat", 20)
	}
}

func (g *generator) flow(st object) {
	switch g.pick("flow", 5) {
	case 0:
		st["ResultPath"] = "$.result"
	case 1:
		st["ResultPath"] = nil
	case 2:
		st["Parameters"] = object{"n": 1, "list": []any{1, 2}, "in.$": "$"}
	case 3:
		st["OutputPath"] = "$.n"
	}
}

func (g *generator) handlers(st object, targets []string) {
	if g.chance("retry", 2) {
		st["Retry"] = []any{object{
			"ErrorEquals": []any{g.errorName()}, "MaxAttempts": g.pick("attempts", 3), "IntervalSeconds": 1 + g.pick("interval", 10),
			"JitterStrategy": []string{"NONE", "FULL"}[g.pick("jitter", 2)],
		}}
	}
	if len(targets) > 0 && g.chance("catch", 2) {
		c := object{"ErrorEquals": []any{"States.ALL"}, "Next": g.of(targets), "ResultPath": "$.error"}
		if !g.plain && g.chance("undo", 2) {
			c["Compensate"] = true
		}
		st["Catch"] = []any{c}
	}
}

// value makes JSON that the documents above can mostly use.
func (g *generator) value(depth int) []byte {
	switch g.pick("value", 6) {
	case 0:
		return []byte(`"text"`)
	case 1:
		return []byte(`{}`)
	}
	v := object{"n": g.pick("n", 4), "list": make([]int, g.pick("items", 4)), "s": "a rather long text so that parts of it can be referred to"}
	if depth > 0 {
		v["inner"] = json.RawMessage(g.value(depth - 1))
	}
	text, err := json.Marshal(v)
	if err != nil {
		g.t.Fatal(err)
	}
	return text
}

// command makes one that may fit or not.
func (g *generator) command(w *world) history.Command {
	cmd := history.Command{Output: g.value(1), Ref: 1, Inbox: 1}
	if names := w.waited(); len(names) > 0 && g.chance("ended", 3) {
		cmd.Status = []history.Status{history.Succeeded, history.Failed, history.Cancelled}[g.pick("status", 3)]
		if cmd.Status != history.Succeeded {
			cmd.Failure = &history.Failure{Code: g.errorName()}
		}
		return w.ended(names[g.pick("child", len(names))], cmd)
	}
	units := w.s.OpenUnits()
	if len(units) > 0 {
		u := units[g.pick("unit", len(units))]
		if row, ok := w.reported(u.Key); ok && g.chance("token", 2) && w.queue[row] == "claimed" {
			return g.tokenReport(w, cmd, row)
		}
		if row, ok := w.s.Row(u.Key); ok {
			return g.report(w, cmd, row, u.Status)
		}
	}
	switch g.pick("command", 6) {
	case 0, 1:
		cmd.Kind, cmd.Signal = history.KindSignal, string(rune('a'+g.pick("signal", 3)))
	case 2:
		cmd.Kind, cmd.Row = history.KindComplete, history.RowRef{Unit: "S1", Attempt: 1, Offer: 1}
	default:
		g.timer(w, &cmd)
	}
	return cmd
}

// timer moves the clock to what is due, or some seconds.
func (g *generator) timer(w *world, cmd *history.Command) {
	cmd.Kind = history.KindTimer
	if wake := w.s.WakeAt(); wake > w.now && g.chance("due", 2) {
		w.now = wake
	} else {
		w.now = w.now.Add(time.Duration(g.pick("seconds", 20)) * time.Second)
	}
	if !g.chance("heard", 2) {
		return
	}
	cmd.Heard = map[history.UnitKey]history.Time{}
	for _, u := range w.s.Silent(w.now) {
		cmd.Heard[u.Key] = w.now
	}
}

// tokenReport makes what whoever has the token of a row would tell; for the row of a worker it is the same.
func (g *generator) tokenReport(w *world, cmd history.Command, row history.RowRef) history.Command {
	cmd.Row = row
	switch g.pick("report", 3) {
	case 0:
		cmd.Kind = history.KindComplete
	case 1:
		cmd.Kind, cmd.Failure = history.KindFail, &history.Failure{Code: g.errorName()}
	default:
		cmd.Kind = history.KindHeartbeat
		return cmd
	}
	return w.report(cmd)
}

// report makes what a worker, a session or an operator would tell about a row.
func (g *generator) report(w *world, cmd history.Command, row history.RowRef, status history.UnitStatus) history.Command {
	if w.queue[row] == "done" {
		// A report is durable, in an earlier command of the same turn: nothing else may come before it.
		cmd.Kind, cmd.Row = history.KindHeartbeat, row
		return cmd
	}
	if status == history.UnitUncertain && g.chance("resolve", 2) {
		cmd.Kind, cmd.Row = history.KindResolve, row
		cmd.Resolution = []string{history.ResolveCompleted, history.ResolveFailed, history.ResolveRetry}[g.pick("word", 3)]
		return cmd
	}
	if w.queue[row] == "queued" && g.chance("claim", 2) {
		return w.claim(row, "w")
	}
	cmd.Row = row
	switch g.pick("report", 8) {
	case 0, 1, 2:
		cmd.Kind = history.KindComplete
	case 3, 4:
		cmd.Kind, cmd.Failure = history.KindFail, &history.Failure{Code: g.errorName(), NonRetryable: g.chance("final", 5)}
	case 5:
		cmd.Kind = history.KindHeartbeat
		return cmd
	case 6:
		g.timer(w, &cmd)
		return cmd
	default:
		cmd.Kind = []history.Kind{history.KindLost, history.KindUncertain}[g.pick("lost", 2)]
		return cmd
	}
	cmd.Row.Offer = 1 + g.pick("offer", row.Offer)
	if w.queue[row] == "queued" && cmd.Row == row {
		cmd.Claim = history.Claim{Task: 1, Worker: "w", At: w.now}
	}
	return w.report(cmd)
}

// TestLoopStaysSmall takes a loop through many turns: what is kept does not grow.
func TestLoopStaysSmall(t *testing.T) {
	m := parse(t, `{"StartAt":"A","States":{
		"A":{"Type":"Task","Resource":"task:a","ResultPath":"$.a","Next":"B"},
		"B":{"Type":"Pass","Assign":{"seen.$":"$.a"},"Next":"A"}}}`)
	s, _, err := decide.Start(m, 1, history.Start{Name: "loop", Input: []byte(`{}`)}, begin)
	if err != nil {
		t.Fatal(err)
	}
	var sizes []int
	for i := range 3000 {
		row := s.OpenUnits()[0]
		ref, _ := s.Row(row.Key)
		if _, err := decide.Handle(m, s, []history.Command{{Kind: history.KindComplete, Row: ref, Output: []byte(`1`)}}, begin); err != nil {
			t.Fatal(err)
		}
		if i%1000 == 999 {
			sizes = append(sizes, len(s.Snapshot()))
		}
	}
	if grown := sizes[2] - sizes[0]; grown > 40 {
		t.Errorf("snapshots have %v bytes", sizes)
	}
}

// TestEndlessLoopIsCut runs a document that never waits: each turn ends, and the next is due at once.
func TestEndlessLoopIsCut(t *testing.T) {
	w := newWorld(t, parse(t, `{"StartAt":"A","States":{"A":{"Type":"Pass","Next":"B"},"B":{"Type":"Pass","Next":"A"}}}`))
	turn := w.start(history.Start{Name: "loop", Input: []byte(`{}`)})
	for range 3 {
		if n := len(turn.Events); n < 1000 || n > 1010 {
			t.Fatalf("a turn of %d events", n)
		}
		if turn.WakeAt != w.now || w.s.Idle() {
			t.Fatalf("wakes at %d, idle %v", turn.WakeAt, w.s.Idle())
		}
		turn = w.handle(history.Command{Kind: history.KindTimer})
	}
	w.handle(history.Command{Kind: history.KindCancel})
}

// TestLargePayloadsCutTheTurn has states that each write a large text.
func TestLargePayloadsCutTheTurn(t *testing.T) {
	big := bytes.Repeat([]byte("x"), 100_000)
	w := newWorld(t, parse(t, fmt.Sprintf(`{"StartAt":"A","States":{
		"A":{"Type":"Pass","Parameters":{"big":%q,"n.$":"States.UUID()"},"Next":"B"},
		"B":{"Type":"Pass","Parameters":{"n":1},"Next":"A"}}}`, big)))
	turn := w.start(history.Start{Name: "loop", Input: []byte(`{}`)})
	if n := len(turn.Events); n > 100 {
		t.Errorf("a turn of %d events, %d bytes", n, len(history.EncodeEvents(turn.Events)))
	}
	w.handle(history.Command{Kind: history.KindCancel})
}

// TestWideMap fans out over more items than a turn has events for.
func TestWideMap(t *testing.T) {
	w := newWorld(t, parse(t, `{"StartAt":"M","States":{"M":{"Type":"Map","End":true,
		"ItemProcessor":{"StartAt":"T","States":{"T":{"Type":"Task","Resource":"task:t","End":true}}}}}}`))
	input, _ := json.Marshal(make([]int, 800))
	w.start(history.Start{Name: "wide", Input: input})
	for !w.s.Idle() {
		w.handle(history.Command{Kind: history.KindTimer})
	}
	if n := len(w.s.OpenUnits()); n != 800 {
		t.Fatalf("%d units are open", n)
	}
	if n := len(w.turns); n != 3 {
		t.Errorf("it took %d turns", n)
	}
	w.handle(history.Command{Kind: history.KindCancel})
}

// TestReadingLargeTextsCutsTheTurn has states that write little and read much.
func TestReadingLargeTextsCutsTheTurn(t *testing.T) {
	w := newWorld(t, parse(t, `{"StartAt":"A","States":{"A":{"Type":"Pass","Next":"B"},
		"B":{"Type":"Pass","Parameters":{"n.$":"$$.Execution.Input.n"},"ResultPath":"$.n","Next":"A"}}}`))
	input, _ := json.Marshal(object{"n": 1, "big": string(bytes.Repeat([]byte("x"), 200_000))})
	turn := w.start(history.Start{Name: "loop", Input: input})
	if n := len(turn.Events); n > 400 {
		t.Errorf("a turn of %d events", n)
	}
	if n := len(history.EncodeEvents(turn.Events)); n > 250_000 {
		t.Errorf("a row of %d bytes", n)
	}
	w.handle(history.Command{Kind: history.KindCancel})
}
