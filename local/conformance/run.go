package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/orrery-dev/orrery/shared/decide"
	"github.com/orrery-dev/orrery/shared/definition"
	"github.com/orrery-dev/orrery/shared/expr"
	"github.com/orrery-dev/orrery/shared/history"
)

// start is where the clock of a case begins; it jumps to the next thing that is due whenever nothing else can happen.
var start = time.Date(2026, 11, 30, 3, 29, 21, 0, time.UTC)

// maxTurns ends a case that goes on for ever.
const maxTurns = 10_000

// report is a scripted answer to a task. A failed one has failure set.
type report struct {
	output  []byte
	failure *history.Failure
}

// script gives the answers for the tasks of an iteration, in order; outside a Map the iteration is -1.
type script map[int][]report

func (s script) next(iteration int) (report, bool) {
	list := s[iteration]
	if len(list) == 0 {
		return report{}, false
	}
	s[iteration] = list[1:]
	return list[0], true
}

// machine parses a document. Lambda functions are run as contracts, which the script answers; resources has what the
// states had before. The reason is what the document needs that is not built.
func machine(doc expr.Value) (m *definition.Machine, resources map[string]string, reason string, err error) {
	resources = map[string]string{}
	parsed, problems := definition.Parse(expr.Marshal(scripted(doc, "", resources)), definition.Options{})
	for _, p := range problems {
		if p.Rule == definition.RuleNotBuilt {
			return nil, nil, p.Message, nil
		}
	}
	if parsed == nil {
		return nil, nil, "", fmt.Errorf("the definition is refused: %w", problems.Err())
	}
	return parsed.Machine, resources, "", nil
}

// scripted replaces the resources that are Lambda functions; name is the member that v stands under.
func scripted(v expr.Value, name string, resources map[string]string) expr.Value {
	switch v := v.(type) {
	case []expr.Value:
		list := make([]expr.Value, len(v))
		for i := range v {
			list[i] = scripted(v[i], "", resources)
		}
		return list
	case *expr.Object:
		o := expr.NewObject()
		for n, member := range v.All() {
			o.Set(n, scripted(member, n, resources))
		}
		kind, _ := o.Get("Type")
		resource, _ := o.Get("Resource")
		text, _ := resource.(string)
		if kind == "Task" && isLambda(text) {
			resources[name] = text
			o.Set("Resource", "task:scripted")
		}
		return o
	}
	return v
}

func isLambda(resource string) bool {
	return strings.HasPrefix(resource, "arn:aws:lambda:") || resource == "arn:aws:states:::lambda:invoke"
}

// execution is a case that runs.
type execution struct {
	m         *definition.Machine
	s         *history.State
	now       history.Time
	resources map[string]string
	script    script
	shown     *history.State // what the views were made with
	views     []history.View
}

// run takes a document from its start to its end.
func run(m *definition.Machine, resources map[string]string, input []byte, answers script) (*execution, error) {
	x := &execution{m: m, now: history.TimeOf(start), resources: resources, script: answers, shown: history.New()}
	s, t, err := decide.Start(m, 1, history.Start{
		Namespace: "default", Name: "exec", Workflow: "machine", Version: 1, Input: input, Seed: 1,
		ContextID: "arn:aws:states:us-east-1:111111111111:execution:machine:exec",
		MachineID: "arn:aws:states:us-east-1:111111111111:stateMachine:machine",
	}, x.now)
	if err != nil {
		return nil, err
	}
	x.s = s
	if err := x.show(t); err != nil {
		return nil, err
	}
	for n := 0; !s.Status().Ended(); n++ {
		if n == maxTurns {
			return nil, fmt.Errorf("still running after %d turns", n)
		}
		if err := x.step(); err != nil {
			return nil, err
		}
	}
	return x, nil
}

// step answers the tasks that have an answer, else lets the clock jump.
func (x *execution) step() error {
	if cmds := x.claims(); len(cmds) > 0 {
		return x.handle(cmds)
	}
	if cmds := x.reports(); len(cmds) > 0 {
		return x.handle(cmds)
	}
	wake := x.s.WakeAt()
	if wake == 0 {
		return fmt.Errorf("nothing is due, and the script has no answer left")
	}
	x.now = max(x.now, wake)
	return x.handle([]history.Command{{Kind: history.KindTimer}})
}

func (x *execution) claims() []history.Command {
	var cmds []history.Command
	for _, u := range x.s.OpenUnits() {
		if row, ok := x.s.Row(u.Key); ok && u.Status == history.UnitQueued {
			cmds = append(cmds, history.Command{Kind: history.KindDispatched, Row: row, Claim: history.Claim{At: x.now}})
		}
	}
	return cmds
}

func (x *execution) reports() []history.Command {
	var cmds []history.Command
	for _, u := range x.s.OpenUnits() {
		row, ok := x.s.Row(u.Key)
		if !ok {
			continue
		}
		answer, ok := x.script.next(iterationOf(u.Key))
		if !ok {
			continue
		}
		cmd := history.Command{Kind: history.KindComplete, Row: row, Output: answer.output}
		if answer.failure != nil {
			cmd.Kind, cmd.Failure = history.KindFail, answer.failure
		}
		cmds = append(cmds, cmd)
	}
	return cmds
}

// iterationOf reads the innermost index of a unit key, -1 where it has none.
func iterationOf(key history.UnitKey) int {
	open := strings.LastIndexByte(string(key), '[')
	if open < 0 {
		return -1
	}
	n := -1
	fmt.Sscanf(string(key)[open:], "[%d]", &n)
	return n
}

func (x *execution) handle(cmds []history.Command) error {
	t, err := decide.Handle(x.m, x.s, cmds, x.now)
	if err != nil {
		return err
	}
	return x.show(t)
}

func (x *execution) show(t history.Turn) error {
	views, err := history.Describe(x.shown, t.Seq, t.At, t.FirstEvent, t.Events, func(state string) string {
		return x.resources[state]
	})
	x.views = append(x.views, views...)
	return err
}
