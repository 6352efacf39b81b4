package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/orrery-dev/orrery/shared/definition"
	"github.com/orrery-dev/orrery/shared/expr"
	"github.com/orrery-dev/orrery/shared/history"
)

// historyCase is a line of histories.jsonl.
type historyCase struct {
	ID         string          `json:"id"`
	N          int             `json:"n"`
	Definition json.RawMessage `json:"definition"`
	Input      json.RawMessage `json:"input"`
	History    []recordedEvent `json:"history"`
	S3         json.RawMessage `json:"s3"`
}

// recordedEvent is an event of the reference service.
type recordedEvent struct {
	id, previous int64
	kind         string
	details      *expr.Object
	raw          *expr.Object
}

func (e *recordedEvent) UnmarshalJSON(b []byte) error {
	v, err := expr.Parse(b)
	if err != nil {
		return err
	}
	o, ok := v.(*expr.Object)
	if !ok {
		return fmt.Errorf("an event is no object: %s", b)
	}
	e.raw, e.details = o, expr.NewObject()
	for name, member := range o.All() {
		switch member := member.(type) {
		case *expr.Object:
			if strings.HasSuffix(name, "EventDetails") {
				e.details = member
			}
		case expr.Number:
			n, _ := member.Int64()
			if name == "id" {
				e.id = n
			} else if name == "previousEventId" {
				e.previous = n
			}
		case string:
			if name == "type" {
				e.kind = member
			}
		}
	}
	return nil
}

func runHistory(line []byte, _ int) (verdict, error) {
	var c historyCase
	if err := json.Unmarshal(line, &c); err != nil {
		return verdict{}, err
	}
	v := verdict{id: fmt.Sprintf("%s#%d", c.ID, c.N)}
	doc, err := expr.Parse(c.Definition)
	if err != nil {
		return v, err
	}
	if strings.Contains(string(c.Definition), "s3:") && c.S3 == nil {
		v.skip = "needs S3 content"
		return v, nil
	}
	m, resources, reason, err := machine(doc)
	switch {
	case reason != "":
		v.skip = reason
		return v, nil
	case err != nil:
		v.fail = err.Error()
		return v, nil
	}
	x, err := run(m, resources, c.Input, scriptOf(c.History))
	if err != nil {
		v.fail = err.Error()
		return v, nil
	}
	v.fail = compareHistory(c.History, shownEvents(x.views), sequential(m))
	return v, nil
}

// scriptOf takes the answers of tasks from a recording.
func scriptOf(events []recordedEvent) script {
	s := script{}
	byID := map[int64]*recordedEvent{}
	for i := range events {
		byID[events[i].id] = &events[i]
	}
	for i := range events {
		e := &events[i]
		succeeded := strings.HasSuffix(e.kind, "Succeeded")
		if !isTask(e.kind) || !succeeded && !strings.HasSuffix(e.kind, "Failed") {
			continue
		}
		iteration := -1
		for p := e; p != nil && iteration < 0; p = byID[p.previous] {
			if p.kind == "MapIterationStarted" {
				index, _ := p.details.Get("index")
				n, _ := index.(expr.Number).Int64()
				iteration = int(n)
			}
		}
		s[iteration] = append(s[iteration], answer(e, succeeded))
	}
	return s
}

func isTask(kind string) bool {
	return strings.HasPrefix(kind, "Task") && !strings.HasPrefix(kind, "TaskState") ||
		strings.HasPrefix(kind, "LambdaFunction") || strings.HasPrefix(kind, "Activity")
}

func answer(e *recordedEvent, succeeded bool) report {
	if succeeded {
		output, _ := e.details.Get("output")
		return report{output: expr.Marshal(decoded(output))}
	}
	text := func(name string) string {
		v, _ := e.details.Get(name)
		if s, ok := v.(string); ok || v == nil {
			return s
		}
		return string(expr.Marshal(v))
	}
	return report{failure: &history.Failure{Code: text("error"), Message: text("cause")}}
}

// own are the types of events that the reference service does not have.
var own = []string{"TaskRedelivered", "TaskUncertain", "TaskProgressed", "TaskResolved", "RetryScheduled", "SignalReceived",
	"ExecutionCancelRequested"}

// shownEvents leaves our own events out, and numbers the others anew.
func shownEvents(views []history.View) []recordedEvent {
	number := map[history.EventID]int64{}
	var events []recordedEvent
	for i := range views {
		v := &views[i]
		if slices.Contains(own, v.Type) {
			continue
		}
		e := recordedEvent{id: int64(len(events) + 1), previous: number[v.Previous], kind: v.Type, details: expr.NewObject()}
		number[v.ID] = e.id
		for _, d := range v.Details {
			value, err := expr.Parse(d.Value)
			if err != nil {
				value = string(d.Value)
			}
			e.details.Set(d.Name, value)
		}
		events = append(events, e)
	}
	return events
}

// sequential tells that nothing of the document runs beside something else, so that ids can be compared.
func sequential(m *definition.Machine) bool {
	alone := true
	m.Walk(func(st *definition.State) {
		switch st.Type {
		case definition.Parallel:
			alone = alone && len(st.Branches) == 1
		case definition.Map:
			if st.MaxConcurrency == nil {
				alone = false
			} else if n, ok := st.MaxConcurrency.Constant(); ok && n != 1 {
				alone = false
			}
		}
	})
	return alone
}

// compareHistory gives the first difference, empty where there is none.
func compareHistory(want, got []recordedEvent, ids bool) string {
	if !ids {
		return compareSets(want, got)
	}
	m := newMatcher()
	for i := range min(len(want), len(got)) {
		w, g := &want[i], &got[i]
		if diff := compareEvent(m, w, g); diff != "" {
			return fmt.Sprintf("event %d: %s", i+1, diff)
		}
		if w.id != g.id || w.previous != g.previous {
			return fmt.Sprintf("event %d %s: recorded id %d after %d, got %d after %d", i+1, w.kind, w.id, w.previous, g.id, g.previous)
		}
	}
	if len(want) != len(got) {
		return fmt.Sprintf("recorded %d events, got %d", len(want), len(got))
	}
	return ""
}

// compareSets finds for each recorded event one of ours, in any order.
func compareSets(want, got []recordedEvent) string {
	left := slices.Clone(got)
	for i := range want {
		first := ""
		at := slices.IndexFunc(left, func(g recordedEvent) bool {
			diff := compareEvent(newMatcher(), &want[i], &g)
			if diff != "" && g.kind == want[i].kind && first == "" {
				first = diff
			}
			return diff == ""
		})
		if at < 0 {
			return fmt.Sprintf("recorded event %d %s is not among ours: %s", i+1, want[i].kind, first)
		}
		left = slices.Delete(left, at, at+1)
	}
	if len(left) > 0 {
		return fmt.Sprintf("we have %d events more, the first is %s", len(left), left[0].kind)
	}
	return ""
}

// payloads are the details that hold JSON as a text.
var payloads = []string{"input", "output", "parameters", "cause"}

// notCompared differ from account to account, or are ours alone.
var notCompared = []string{"inputDetails", "outputDetails", "assignedVariablesDetails", "roleArn", "region", "taskCredentials",
	"workflow", "version", "requestId", "details"}

func compareEvent(m *matcher, want, got *recordedEvent) string {
	if want.kind != got.kind {
		return fmt.Sprintf("recorded %s, got %s %s", want.kind, got.kind, expr.Marshal(got.details))
	}
	return m.value(want.kind, comparable(want.details, true), comparable(got.details, false))
}

// comparable decodes payloads once, and leaves out what is not compared.
func comparable(details *expr.Object, recorded bool) *expr.Object {
	o := expr.NewObject()
	for name, v := range details.All() {
		switch {
		case slices.Contains(notCompared, name):
			continue
		case name == "assignedVariables" && recorded:
			vars := expr.NewObject()
			for n, value := range v.(*expr.Object).All() {
				vars.Set(n, decoded(value))
			}
			v = vars
		case name == "cause" || recorded && slices.Contains(payloads, name):
			v = decoded(v)
		}
		o.Set(name, v)
	}
	return o
}
