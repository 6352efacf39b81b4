package memory

import (
	"slices"

	"github.com/orrery-dev/orrery/shared/history"
	"github.com/orrery-dev/orrery/shared/store"
)

// View is one state of the database, for whoever checks it. It is valid inside the function that it was given to.
type View struct{ m *Store }

// View shows the database as it is.
func (m *Store) View(f func(View)) { m.read(func() { f(View{m}) }) }

// Row is one row of the task queue.
type Row struct {
	store.Assignment
	State   string // queued, claimed, done, cancelled or lost
	Noticed bool
}

// Owner says who owns a partition.
func (v View) Owner(p history.Partition) store.Owner { return v.m.partitions[p] }

// Owners lists all partitions.
func (v View) Owners() []store.Owner { return v.m.partitions }

// Member tells whether the incarnation may commit.
func (v View) Member(f history.FenceNumber) bool {
	n := v.m.nodes[f]
	return n != nil && n.ended == ""
}

// Name is the id of the node of an incarnation.
func (v View) Name(f history.FenceNumber) string {
	if n := v.m.nodes[f]; n != nil {
		return n.ID
	}
	return ""
}

// Now is the time by the database's clock.
func (v View) Now() history.Time { return v.m.now() }

// Executions lists all executions, by number.
func (v View) Executions() []store.Execution {
	out := make([]store.Execution, len(v.m.executions))
	for i, e := range v.m.executions {
		out[i] = e.Execution
	}
	return out
}

// Execution gives one by number, with its turns.
func (v View) Execution(id history.ExecutionID) (store.Execution, []store.Row) {
	e := v.m.execution(id)
	return e.Execution, e.turns
}

// Snapshot gives the newest snapshot of an execution, nil for none, and the turn that it is of.
func (v View) Snapshot(id history.ExecutionID) ([]byte, history.Seq) {
	e := v.m.execution(id)
	return e.snapshot, e.snapshotSeq
}

// Document is the text of a definition.
func (v View) Document(id history.DefinitionID) []byte { return v.m.definition(id).Document }

// Named finds an execution.
func (v View) Named(name string) (store.Execution, bool) {
	if e := v.m.named(Namespace, name); e != nil {
		return e.Execution, true
	}
	return store.Execution{}, false
}

// Rows lists the rows of the queue that belong to an execution, or all for zero.
func (v View) Rows(id history.ExecutionID) (out []Row) {
	for _, t := range v.m.tasks {
		if id == 0 || t.Execution == id {
			out = append(out, Row{t.Assignment, t.state, t.noticed})
		}
	}
	return out
}

// Waiting lists the entries of inboxes that no turn has applied, by number.
func (v View) Waiting() (out []store.Entry) {
	for _, e := range v.m.inbox {
		if e.reply == nil {
			out = append(out, e.Entry)
		}
	}
	return out
}

// Entered tells whether an entry is in an inbox, answered or not.
func (v View) Entered(id history.InboxID) bool { return v.m.entry(id) != nil }

// Holds tells whether the session is open and was heard of.
func (v View) Holds(id string) bool {
	return slices.ContainsFunc(v.m.sessions, func(x *session) bool { return x.ID == id && !x.closed })
}

// Debts counts what is noted as owed.
func (v View) Debts() int { return len(v.m.debts) }
