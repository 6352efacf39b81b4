package sim

import (
	"github.com/orrery-dev/orrery/shared/definition"
	"github.com/orrery-dev/orrery/shared/history"
	"github.com/orrery-dev/orrery/shared/sim/memory"
	"github.com/orrery-dev/orrery/shared/store"
	"github.com/orrery-dev/orrery/shared/trial"
)

// again decides the history of an execution once more, from its start to the turn that was just written, by the document that
// it was started with: the events must be those that are stored. So whoever decided had nothing to go by but what a history tells
// (I4), and the recording decides alike (I11).
func (a *audit) again(v memory.View, d *dossier, row store.Execution, turns []store.Row) {
	rows := make([]trial.Row, len(turns))
	for i, t := range turns {
		rows[i] = trial.Row{Seq: t.Seq, At: t.At, First: t.First, Events: t.Events}
	}
	rec, err := trial.FromRows(rows, nil)
	if err != nil {
		a.world.fail("I11: %s: %v", d.name, err)
		return
	}
	m := a.machine(v, d.started(row))
	if rec.Start.Processor != "" {
		m = m.Run(rec.Start.Processor) // an iteration of a distributed Map
	}
	verdict, err := trial.Replay(m, rec, nil)
	switch {
	case err != nil:
		a.world.fail("I11: %s: %v", d.name, err)
	case verdict.Judgement != trial.Same:
		a.world.fail("I4, I11: turn %d of %s is decided otherwise: %s", verdict.Turn, d.name, verdict.Message)
	}
}

// started is the definition that the execution was started with.
func (d *dossier) started(row store.Execution) history.DefinitionID {
	if d.definition == 0 {
		d.definition = row.Definition
	}
	return d.definition
}

// machine reads a definition.
func (a *audit) machine(v memory.View, id history.DefinitionID) *definition.Machine {
	if m := a.machines[id]; m != nil {
		return m
	}
	doc, problems := definition.Parse(v.Document(id), definition.Options{})
	if err := problems.Err(); err != nil {
		panic(err)
	}
	a.machines[id] = doc.Machine
	return doc.Machine
}

// refused is told of a transaction that was refused: nothing of it may be left (I12).
func (a *audit) refused(v memory.View) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, row := range v.Executions() {
		d := a.known[row.ID]
		_, turns := v.Execution(row.ID)
		if d == nil || row.Seq != d.state.LastSeq() || row.Status != d.state.Status() || len(turns) != int(row.Seq) {
			a.world.fail("I12: a check has failed, and %s was changed: turn %d, %v", row.Name, row.Seq, row.Status)
		}
	}
}
