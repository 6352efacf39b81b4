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
type document struct {
	machine *definition.Machine
	// resources has what Tasks had as Resource before a script took their place, by the name of the state.
	resources map[string]string
}

// documentOf parses a definition. Lambda functions are run as contracts, which a script answers. The reason is what the
// definition needs that is not built.
func documentOf(v expr.Value) (d *document, reason string, err error) {
	d = &document{resources: map[string]string{}}
	parsed, problems := definition.Parse(expr.Marshal(scripted(v, "", d.resources)), definition.Options{})
	if reason := notBuilt(problems); reason != "" {
		return nil, reason, nil
	}
	if parsed == nil {
		return nil, "", fmt.Errorf("the definition is refused: %w", problems.Err())
	}
	d.machine = parsed.Machine
	return d, "", nil
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
		if text := textOf(o, "Resource"); textOf(o, "Type") == "Task" && isLambda(text) {
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
		Resource: func(state string) string {
			if text, ok := d.resources[state]; ok {
				return text
			}
			if s := d.machine.Find(state); s != nil && s.Resource != nil {
				return s.Resource.Text
			}
			return ""
		},
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
