package decide_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"pgregory.net/rapid"

	"github.com/orrery-dev/orrery/shared/history"
)

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
	if g.chance("limits", 4) {
		m["Limits"] = object{"Events": 20 + g.pick("events", 100), "FanOut": 1 + g.pick("fan-out", 4), "PayloadBytes": 200 + g.pick("bytes", 1000)}
	}
	if g.chance("output", 4) {
		m["Output"] = object{"type": []string{"object", "array", "integer"}[g.pick("type", 3)]}
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
		if g.chance("distributed", 3) {
			g.distributed(st)
		}
		if g.chance("tolerated", 3) {
			st["ToleratedFailurePercentage"] = g.pick("percentage", 3) * 40
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

// distributed makes the iterations of a Map executions.
func (g *generator) distributed(st object) {
	processor := st["ItemProcessor"].(object)
	processor["ProcessorConfig"] = object{"Mode": "DISTRIBUTED"}
	switch g.pick("results", 4) {
	case 0:
		st["ResultWriter"] = object{"Resource": "arn:aws:states:::s3:putObject", "Parameters": object{"Bucket": "b", "Prefix.$": "$.s"}}
	case 1:
		st["ResultWriter"] = object{"WriterConfig": object{"Transformation": []string{"NONE", "FLATTEN"}[g.pick("transformation", 2)]}}
	}
	if g.chance("batches", 2) {
		st["ItemBatcher"] = object{"MaxItemsPerBatch": 1 + g.pick("batch", 3), "BatchInput": object{"all.$": "$"}}
	}
}

func (g *generator) undo(st object) {
	if !g.plain && g.chance("compensate", 2) {
		st["Compensate"] = g.compensation()
	}
}

// child makes the resource of a Task that starts an execution.
func (g *generator) child(st object) string {
	kind := g.pick("child", 6)
	if kind > 3 {
		st["Parameters"] = object{"StateMachineArn": []string{"sub@1", "sub:live", "nowhere"}[g.pick("where", 3)], "Input.$": "$"}
		if g.chance("named", 3) {
			st["Parameters"].(object)["Name"] = "child"
		}
	}
	return []string{
		"workflow:sub", "workflow:sub@1", "workflow:sub:live", "workflow:nowhere", "arn:aws:states:::states:startExecution",
		"arn:aws:states:::states:startExecution.sync:2",
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
