package decide_test

import (
	"github.com/orrery-dev/orrery/shared/decide"
	"github.com/orrery-dev/orrery/shared/history"
)

// coverage counts what has happened, by name.
type coverage map[string]int

// wanted is everything that random documents and commands have to bring about: every type of event, and what shows in their
// fields only.
var wanted = append([]string{
	"limit reached", "invalid output", "too wide", "too large", "workflow missing", "second version", "child by token",
	"worker by token", "undone by a child", "undone in vain", "uncertain", "ruled failed", "ruled retry", "tolerated", "stopped child",
	"handed to a Map's execution", "succeeded", "failed", "timed out", "cancelled",
}, types()...)

// types leaves out what an ItemReader brings about: random documents have none.
func types() (names []string) {
	for _, t := range history.EventTypes() {
		if t != history.EventReading && t != history.EventUnread {
			names = append(names, string(t))
		}
	}
	return names
}

func (c coverage) missing() (names []string) {
	for _, name := range wanted {
		if c[name] == 0 {
			names = append(names, name)
		}
	}
	return names
}

// note counts what a turn shows.
func (c coverage) note(turn history.Turn) {
	for i := range turn.Events {
		ev := &turn.Events[i]
		c[string(ev.Type)]++
		for name, holds := range map[string]bool{
			"limit reached":     ev.Type == history.EventUnwinding && ev.Name == "limit",
			"invalid output":    ev.Error == decide.OrreryInvalidOutput,
			"too wide":          ev.Error == decide.OrreryLimitExceeded,
			"too large":         ev.Error == "States.DataLimitExceeded",
			"workflow missing":  ev.Error == "StepFunctions.StateMachineDoesNotExistException",
			"second version":    ev.Type == history.EventScheduled && ev.Workflow == "sub" && ev.Version == 2,
			"child by token":    ev.Type == history.EventScheduled && ev.Unit == history.TokenChildUnit,
			"worker by token":   ev.Type == history.EventScheduled && ev.Unit == history.TokenUnit,
			"undone in vain":    ev.Type == history.EventUndone && ev.Status == history.Failed,
			"uncertain":         ev.Type == history.EventLost && ev.Last,
			"ruled failed":      ev.Type == history.EventRuled && ev.Name == history.ResolveFailed,
			"ruled retry":       ev.Type == history.EventRuled && ev.Name == history.ResolveRetry,
			"undone by a child": ev.Type == history.EventScheduled && ev.Unit == history.ChildUnit && turn.Seq > 0 && ev.Scope != history.MainScope && ev.Workflow == "sub",
			"tolerated":         ev.Type == history.EventIterFailed && ev.Last,
		} {
			if holds {
				c[name]++
			}
		}
	}
	c.noteEffects(turn)
}

func (c coverage) noteEffects(turn history.Turn) {
	if len(turn.Stops) > 0 {
		c["stopped child"]++
	}
	for _, child := range turn.Children {
		if child.Start.Processor != "" {
			c["handed to a Map's execution"]++
		}
	}
	if turn.End == nil {
		return
	}
	c[map[history.Status]string{
		history.Succeeded: "succeeded", history.Failed: "failed", history.TimedOut: "timed out", history.Cancelled: "cancelled",
	}[turn.End.Status]]++
}
