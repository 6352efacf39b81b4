package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/orrery-dev/orrery/shared/expr"
	"github.com/orrery-dev/orrery/shared/history"
	"github.com/orrery-dev/orrery/shared/trial"
)

// historyCase is a line of histories.jsonl.
type historyCase struct {
	ID            string          `json:"id"`
	N             int             `json:"n"`
	InputVerified bool            `json:"input_verified"`
	Definition    json.RawMessage `json:"definition"`
	Input         json.RawMessage `json:"input"`
	History       []recordedEvent `json:"history"`
	S3            json.RawMessage `json:"s3"`
}

// recordedEvent is an event of the reference service.
type recordedEvent struct {
	id, previous int64 // zero where the recording has them blanked
	kind         string
	details      *expr.Object
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
	e.kind, e.details = textOf(o, "type"), expr.NewObject()
	e.id, e.previous = intOf(o, "id"), intOf(o, "previousEventId")
	for name, member := range o.All() {
		if details, ok := member.(*expr.Object); ok && strings.HasSuffix(name, "EventDetails") {
			e.details = details
		}
	}
	return nil
}

// intOf is a member that is a whole number; zero where there is none.
func intOf(o *expr.Object, name string) int64 {
	v, _ := o.Get(name)
	number, ok := v.(expr.Number)
	if !ok {
		return 0
	}
	n, _ := number.Int64()
	return n
}

func runHistory(line []byte, _ int) (verdict, error) {
	var c historyCase
	if err := json.Unmarshal(line, &c); err != nil {
		return verdict{}, err
	}
	v := verdict{id: fmt.Sprintf("%s#%d", c.ID, c.N)}
	text, err := expr.Parse(c.Definition)
	if err != nil {
		return v, err
	}
	if strings.Contains(string(c.Definition), `"ItemReader"`) && c.S3 == nil {
		v.skip = "needs S3 content"
		return v, nil
	}
	d, reason, err := documentOf(text)
	switch {
	case reason != "":
		v.skip = reason
		return v, nil
	case err != nil:
		v.fail = err.Error()
		return v, nil
	}
	r, err := d.run(c.Input, answersOf(c.History))
	if err != nil {
		v.fail = err.Error()
		return v, nil
	}
	m := newMatcher()
	if !c.InputVerified {
		m.learn(c.History, c.Input)
	}
	v.fail = compareHistory(m, c.History, shownEvents(r.Turns), sequential(text))
	return v, nil
}

// answersOf takes the answers of tasks from a recording.
func answersOf(events []recordedEvent) answers {
	a := answers{}
	for _, t := range weave(events).threads {
		state := ""
		for _, e := range t.events {
			if strings.HasSuffix(e.kind, "StateEntered") {
				state = textOf(e.details, "name")
			}
			succeeded := strings.HasSuffix(e.kind, "Succeeded")
			if isTask(e.kind) && (succeeded || strings.HasSuffix(e.kind, "Failed")) {
				key := t.iterations() + state
				a[key] = append(a[key], answerOf(e, succeeded))
			}
		}
	}
	return a
}

func isTask(kind string) bool {
	return strings.HasPrefix(kind, "Task") && !strings.HasPrefix(kind, "TaskState") ||
		strings.HasPrefix(kind, "LambdaFunction") || strings.HasPrefix(kind, "Activity")
}

func answerOf(e *recordedEvent, succeeded bool) trial.Answer {
	if succeeded {
		output, _ := e.details.Get("output")
		return trial.Answer{Kind: trial.Completes, Output: expr.Marshal(decoded(output))}
	}
	text := func(name string) string {
		v, _ := e.details.Get(name)
		if s, ok := v.(string); ok || v == nil {
			return s
		}
		return string(expr.Marshal(v))
	}
	return trial.Answer{Kind: trial.Fails, Failure: history.Failure{Code: text("error"), Message: text("cause")}}
}

// shownEvents leaves our own events out, and numbers the others anew.
func shownEvents(turns []trial.Turn) []recordedEvent {
	number := map[history.EventID]int64{}
	var events []recordedEvent
	for _, t := range turns {
		for i := range t.Views {
			v := &t.Views[i]
			if v.Own {
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
	}
	return events
}

// sequential tells that nothing of a definition runs beside something else, so that ids can be compared: it has neither a
// Parallel of several branches nor a Map without MaxConcurrency 1.
func sequential(v expr.Value) bool {
	switch v := v.(type) {
	case []expr.Value:
		return !slices.ContainsFunc(v, func(e expr.Value) bool { return !sequential(e) })
	case *expr.Object:
		branches, _ := v.Get("Branches")
		list, _ := branches.([]expr.Value)
		if textOf(v, "Type") == "Parallel" && len(list) != 1 || textOf(v, "Type") == "Map" && intOf(v, "MaxConcurrency") != 1 {
			return false
		}
		for _, member := range v.All() {
			if !sequential(member) {
				return false
			}
		}
	}
	return true
}
