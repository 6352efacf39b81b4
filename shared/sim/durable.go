package sim

import (
	"slices"

	"github.com/orrery-dev/orrery/shared/history"
	"github.com/orrery-dev/orrery/shared/sim/memory"
	"github.com/orrery-dev/orrery/shared/wire"
)

// What an answer says must be in the database when it is given (I5). Each check is made as the answer leaves the process.

// started checks the answer to a start.
func (a *audit) started(name string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.dossierOf(name) == nil {
		a.world.fail("I5: the start of %s is answered, and nothing is written", name)
	}
}

// signalled checks the answer to a signal.
func (a *audit) signalled(name, payload string, event int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	d := a.dossierOf(name)
	if d == nil || !slices.Contains(d.signals, payload) || int64(d.state.Events()) < event {
		a.world.fail("I5: the signal %s of %s is answered with event %d, and is not recorded", payload, name, event)
	}
}

// finished checks the answer to a request for a result.
func (a *audit) finished(name string, status wire.Status) {
	a.mu.Lock()
	defer a.mu.Unlock()
	shown := func(s history.Status) bool { return s.String() == string(status) }
	if d := a.dossierOf(name); d == nil || !slices.ContainsFunc(d.ends, shown) {
		a.world.fail("I5: %s is shown as %s, and is not", name, status)
	}
}

// uncertain gives a unit of an execution that waits for an operator's word; empty for none.
func (a *audit) uncertain(name string) history.UnitKey {
	a.mu.Lock()
	defer a.mu.Unlock()
	if d := a.dossierOf(name); d != nil {
		for _, u := range d.state.OpenUnits() {
			if u.Status == history.UnitUncertain {
				return u.Key
			}
		}
	}
	return ""
}

// ruled checks the answer to an operator's word.
func (a *audit) ruled(name string, event int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if d := a.dossierOf(name); d == nil || !slices.Contains(d.rulings, history.EventID(event)) {
		a.world.fail("I5: the word on a unit of %s is answered with event %d, and is not recorded", name, event)
	}
}

// assigned checks that a worker has what it was given.
func (a *audit) assigned(session string, t wire.Assignment) {
	a.mu.Lock()
	defer a.mu.Unlock()
	d := a.dossierOf(t.Execution)
	if d == nil || !d.given[attemptOf(t)][session] {
		a.world.fail("I5: %s of %s is given to a worker, and is not written as its", t.Unit, t.Execution)
	}
}

func attemptOf(t wire.Assignment) attempt {
	return attempt{t.Execution, history.UnitKey(t.Unit), t.Attempt}
}

// accepted checks that a report that is called durable is: in the inbox, or in the history.
func (a *audit) accepted(t wire.Assignment, uncertain bool) {
	there := false
	a.world.db.View(func(v memory.View) {
		for _, e := range v.Waiting() {
			e2, _ := v.Execution(e.Execution)
			c := e.Command
			there = there || e2.Name == t.Execution && string(c.Row.Unit) == t.Unit && c.Row.Attempt == t.Attempt
		}
	})
	a.mu.Lock()
	defer a.mu.Unlock()
	d := a.dossierOf(t.Execution)
	_, reported := d.reported[attemptOf(t)]
	if !there && !reported && !uncertain {
		a.world.fail("I5: a report of %s in %s, attempt %d, is called accepted, and is neither in the inbox nor in the history", t.Unit, t.Execution, t.Attempt)
	}
}

// effect keeps what a worker has done.
func (a *audit) effect(t wire.Assignment, worker string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.done[attemptOf(t)] = append(a.done[attemptOf(t)], worker)
}

// cancelledFor tells whether the execution of a task has ended.
func (a *audit) over(name string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	d := a.dossierOf(name)
	return d != nil && d.state.Status().Ended()
}

// accounts checks, once everything has ended, that no report was lost and that nothing was done twice without a reason on
// record.
func (a *audit) accounts(acknowledged map[attempt]bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for x := range acknowledged {
		if _, ok := a.dossierOf(x.execution).reported[x]; !ok {
			a.world.fail("I6: the report of attempt %d of %s in %s was accepted, and is lost", x.number, x.unit, x.execution)
		}
	}
	for x, by := range a.done {
		if lost := a.dossierOf(x.execution).lost[x]; len(by) > 1+lost {
			a.world.fail("attempt %d of %s in %s was done %d times, by %v, with %d redeliveries on record", x.number, x.unit, x.execution, len(by), by, lost)
		}
	}
}
