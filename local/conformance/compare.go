package main

import (
	"fmt"
	"slices"

	"github.com/orrery-dev/orrery/shared/expr"
)

// compareHistory gives the first difference, empty where there is none. Where nothing ran beside something else the events
// are one sequence, and their ids are compared.
func compareHistory(m *matcher, want, got []recordedEvent, ids bool) string {
	blanked := slices.ContainsFunc(want, func(e recordedEvent) bool { return e.id == 0 })
	if !ids || blanked {
		return compareWoven(m, weave(want), weave(got))
	}
	if diff := compareEvents(m, pointers(want), pointers(got)); diff != "" {
		return diff
	}
	for i := range want {
		if w, g := &want[i], &got[i]; w.id != g.id || w.previous != g.previous {
			return fmt.Sprintf("event %d %s: recorded id %d after %d, got %d after %d", i+1, w.kind, w.id, w.previous, g.id, g.previous)
		}
	}
	return ""
}

func pointers(events []recordedEvent) []*recordedEvent {
	list := make([]*recordedEvent, len(events))
	for i := range events {
		list[i] = &events[i]
	}
	return list
}

// compareEvents compares two sequences.
func compareEvents(m *matcher, want, got []*recordedEvent) string {
	for i := range min(len(want), len(got)) {
		if diff := compareEvent(m, want[i], got[i]); diff != "" {
			return fmt.Sprintf("event %d: %s", i+1, diff)
		}
	}
	if len(want) != len(got) {
		return fmt.Sprintf("recorded %d events, got %d", len(want), len(got))
	}
	return ""
}

// compareWoven compares the threads of two histories, each as a sequence. What is in threads of ours that the recording
// does not have must be its blanked events, in any order.
func compareWoven(m *matcher, want, got *woven) string {
	if len(want.blanked) > 0 {
		got.threads[0].events = slices.DeleteFunc(got.threads[0].events, isLost)
	}
	for _, w := range want.threads {
		g := got.byKey[w.key]
		if g == nil {
			return fmt.Sprintf("%s was recorded and is not among ours", w.key)
		}
		if diff := compareEvents(m, w.events, g.events); diff != "" {
			return w.key + diff
		}
	}
	var more []*recordedEvent
	for _, g := range got.threads {
		if want.byKey[g.key] == nil {
			if len(want.blanked) == 0 {
				return fmt.Sprintf("%s was not recorded", g.key)
			}
			more = append(more, g.events...)
		}
	}
	return compareSets(want.blanked, more)
}

// isLost tells of the one event that recordings with blanked ids have lost.
func isLost(e *recordedEvent) bool { return e.kind == "ParallelStateSucceeded" }

// compareSets finds for each recorded event one of ours, in any order.
func compareSets(want, got []*recordedEvent) string {
	left := slices.Clone(got)
	for _, w := range want {
		first := ""
		at := slices.IndexFunc(left, func(g *recordedEvent) bool {
			diff := compareEvent(newMatcher(), w, g)
			if diff != "" && g.kind == w.kind && first == "" {
				first = diff
			}
			return diff == ""
		})
		if at < 0 {
			return fmt.Sprintf("recorded event %s is not among ours: %s", w.kind, first)
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
			v = decodedMembers(v)
		case name == "cause" || recorded && slices.Contains(payloads, name):
			v = decoded(v)
		}
		o.Set(name, v)
	}
	return o
}

// decodedMembers decodes each member of an object.
func decodedMembers(v expr.Value) expr.Value {
	o, ok := v.(*expr.Object)
	if !ok {
		return v
	}
	members := expr.NewObject()
	for name, value := range o.All() {
		members.Set(name, decoded(value))
	}
	return members
}
