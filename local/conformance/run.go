package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/orrery-dev/orrery/shared/definition"
	"github.com/orrery-dev/orrery/shared/expr"
	"github.com/orrery-dev/orrery/shared/history"
	"github.com/orrery-dev/orrery/shared/trial"
)

// start is where the clock of a case begins; it jumps to the next thing that is due whenever nothing else can happen.
var start = time.Date(2026, 11, 30, 3, 29, 21, 0, time.UTC)

// document is a definition of the reference service that can be run here.
type document struct{ machine *definition.Machine }

// documentOf parses a definition. The reason is what the definition needs that is not built.
func documentOf(v expr.Value) (d *document, reason string, err error) {
	parsed, problems := definition.Parse(expr.Marshal(v), definition.Options{})
	if reason := notBuilt(problems); reason != "" {
		return nil, reason, nil
	}
	if parsed == nil {
		return nil, "", fmt.Errorf("the definition is refused: %w", problems.Err())
	}
	return &document{parsed.Machine}, "", nil
}

// notBuilt is the first thing that a definition needs and that is not built; empty where there is none.
func notBuilt(problems definition.Problems) string {
	for _, p := range problems {
		if p.Rule == definition.RuleNotBuilt {
			return p.Message
		}
	}
	return ""
}

// textOf is a member that is a string; empty where there is none.
func textOf(o *expr.Object, name string) string {
	v, _ := o.Get(name)
	text, _ := v.(string)
	return text
}

// run takes a document from its start to its end.
func (d *document) run(input []byte, world trial.World) (*trial.Run, error) {
	return trial.Execute(d.machine, world, trial.Options{
		Start: history.Start{
			Namespace: "default", Name: "exec", Workflow: "machine", Version: 1, Input: input, Seed: 1,
			ContextID: "arn:aws:states:us-east-1:111111111111:execution:machine:exec",
			MachineID: "arn:aws:states:us-east-1:111111111111:stateMachine:machine",
		},
		At: history.TimeOf(start),
	})
}

// answers are the recorded results of tasks, by the iterations that the task is inside of and the name of its state, in
// order. Where there is none left, nobody answers, and the clock jumps to the time-out. The executions of a distributed Map,
// whose histories are not recorded, get the input of each task back.
type answers map[string][]trial.Answer

// Answer implements trial.World.
func (a answers) Answer(o trial.Offer) (trial.Answer, error) {
	if o.Within != "" {
		return trial.Answer{Kind: trial.Completes, Output: o.Input}, nil
	}
	if o.State.Writer != nil && o.State.Resource == o.State.Writer.Resource {
		return trial.Answer{Kind: trial.Completes, Output: []byte("null")}, nil // the Map knows what it gives then
	}
	key := iterationsOf(o) + o.State.Name
	if len(a[key]) == 0 {
		return trial.Answer{Kind: trial.Silent}, nil
	}
	next := a[key][0]
	a[key] = a[key][1:]
	return next, nil
}

// iterationsOf reads the indexes of the iterations around a unit from its key, from the outside in, each followed by a
// slash. The key has an index for each Parallel as well, which names a branch.
func iterationsOf(o trial.Offer) string {
	segments := strings.Split(string(o.Unit), "/")
	path := o.State.Path()
	text := ""
	for i, name := range path[:len(path)-1] {
		around := o.State.Parent()
		for around.Name != name {
			around = around.Parent()
		}
		if open := strings.LastIndexByte(segments[i], '['); around.Type == definition.Map && open >= 0 {
			text += strings.TrimSuffix(segments[i][open+1:], "]") + "/"
		}
	}
	return text
}
