package sim

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/orrery-dev/orrery/shared/wire"
)

// check compares what clients and workers were told with what could have been: for each execution, and for each attempt that
// was reported, there must be an order of the requests that agrees with their times and explains every answer.
func (c *clients) check() {
	acknowledged := map[attempt]bool{}
	for x, list := range c.reports {
		c.linear(reportModel, fmt.Sprintf("reports of attempt %d of %s in %s", x.number, x.unit, x.execution), list)
		for _, r := range list {
			outcome := wire.ReportOutcome(r.answer.status)
			if (outcome == wire.ReportAccepted || outcome == wire.ReportDuplicate) && r.request.Do != "uncertain" {
				acknowledged[x] = true
			}
		}
	}
	for _, name := range c.executions() {
		c.linear(executionModel, "requests about "+name, c.asked[name])
	}
	c.world.audit.accounts(acknowledged)
}

// linear has porcupine look for such an order.
func (c *clients) linear(m porcupine.NondeterministicModel, what string, list []asked) {
	var ops []porcupine.Operation
	for i, x := range list {
		if x.answer.kind == nothing || x.answer.kind == unsure && (x.request.Do == Result || x.request.Do == Read) {
			continue
		}
		ops = append(ops, porcupine.Operation{ClientId: i, Input: x, Output: x.answer, Call: x.from, Return: x.to})
	}
	model := m.ToModel()
	if porcupine.CheckOperationsTimeout(model, ops, 10*time.Second) == porcupine.Ok {
		return
	}
	slices.SortFunc(ops, func(a, b porcupine.Operation) int { return int(a.Call - b.Call) })
	var story []string
	for _, o := range ops {
		x := o.Input.(asked)
		story = append(story, fmt.Sprintf("[%d-%d] %s %d %s: %+v", o.Call, o.Return, x.request.Do, x.request.Key, x.request.Who, x.answer))
	}
	c.world.fail("no order explains the %s:\n\t%s", what, strings.Join(story, "\n\t"))
}

// told is an execution as its clients know it.
type seen struct {
	there   bool
	signals string
	end     wire.Status // empty while it runs; ended when it is over and nobody knows how
}

const ended wire.Status = "ended"

// executionModel is what clients may see of an execution: it is started once, takes signals one after the other, each once,
// and ends once; a cancel ends it; a redrive has it run on, where it has not succeeded; reads show what has happened before them.
//
//	absent --start--> running, signals --signal--> running, one signal more
//	                    |    ^
//	                    |    +--redrive--+
//	                    +--cancel--> CANCELLED
//	                    +--by itself--> FAILED, ..., SUCCEEDED
var executionModel = porcupine.NondeterministicModel{
	Init:  func() []any { return []any{seen{}} },
	Step:  func(state, input, output any) []any { return state.(seen).step(input.(asked).request, output.(reply)) },
	Equal: func(a, b any) bool { return a == b },
}

func (s seen) step(q Step, r reply) []any {
	switch {
	case r.kind == notThere:
		return when(!s.there, s)
	case q.Do == Start && r.kind == unsure:
		return []any{s, seen{there: true, signals: s.signals, end: s.end}}
	case q.Do == Start:
		if r.created && s.there {
			return nil
		}
		s.there = true
		return []any{s}
	case !s.there:
		return when(r.kind == unsure, s)
	case q.Do == Redrive:
		return s.redriven(r)
	case q.Do == Resolve:
		return when(r.kind != told || s.end == "", s)
	case r.kind == tooLate:
		if s.end == "" {
			s.end = ended
		}
		return []any{s}
	case q.Do == Signal || q.Do == Cancel:
		after := s.change(q)
		if r.kind == unsure {
			return append(after, s)
		}
		return after
	}
	return s.shown(q, r)
}

// change is what a signal or a cancel makes of a running execution.
func (s seen) change(q Step) []any {
	if s.end != "" {
		return nil
	}
	if q.Do == Cancel {
		s.end = wire.Cancelled
	} else {
		s.signals = strings.TrimSpace(fmt.Sprint(s.signals, " ", q.Key))
	}
	return []any{s}
}

// redriven is what a redrive makes of an execution.
func (s seen) redriven(r reply) []any {
	after := s
	after.end = ""
	possible := s.end != wire.Succeeded // one that runs may have ended by itself
	switch {
	case r.kind == unsure && possible:
		return []any{s, after}
	case r.kind == told:
		return when(possible, after)
	}
	return []any{s}
}

// shown is what must be where a read has shown something.
func (s seen) shown(q Step, r reply) []any {
	if q.Do == Read && r.signals != s.signals {
		return nil
	}
	switch {
	case !r.status.Ended():
		return when(s.end == "", s)
	case s.end == "" && r.status == wire.Cancelled:
		return nil // nobody has cancelled it
	case s.end == "" || s.end == ended:
		s.end = r.status
	}
	return when(s.end == r.status, s)
}

func when(holds bool, s any) []any {
	if holds {
		return []any{s}
	}
	return nil
}

// taken is an attempt as its workers know it.
type taken struct {
	by   string // the token of the first report
	over bool
}

// reportModel is what workers may be told of their reports of one attempt: one token's report is the first, and is accepted
// once.
var reportModel = porcupine.NondeterministicModel{
	Init:  func() []any { return []any{taken{}} },
	Step:  func(state, input, output any) []any { return state.(taken).step(input.(asked), output.(reply)) },
	Equal: func(a, b any) bool { return a == b },
}

func (s taken) step(x asked, r reply) []any {
	first := taken{by: x.token, over: s.over}
	uncertain := x.request.Do == "uncertain"
	switch {
	case r.kind == unsure && s.by == "" && !s.over && !uncertain:
		return []any{s, first}
	case r.kind == unsure:
		return []any{s}
	case uncertain:
		return []any{s} // it settles nothing: the attempt is offered anew
	}
	switch wire.ReportOutcome(r.status) {
	case wire.ReportAccepted:
		return when(s.by == "" && !s.over, first)
	case wire.ReportDuplicate: // where nobody was first, it was another try of this request, which its process has made
		return when(s.by == x.token || s.by == "" && !s.over, first)
	}
	s.over = true
	return []any{s}
}
