package frontend

import (
	"context"
	"slices"
	"testing"

	"github.com/orrery-dev/orrery/shared/decide"
	"github.com/orrery-dev/orrery/shared/definition"
	"github.com/orrery-dev/orrery/shared/history"
	"github.com/orrery-dev/orrery/shared/store"
)

// moving is a store whose one execution has two tasks at once, handed over by its first turn, their rows owed. It goes on by a
// turn of its other task with each load, so often as turns says.
type moving struct {
	Store
	t       *testing.T
	machine *definition.Machine
	state   *history.State
	rows    []store.Row
	turns   int
	loads   int
	reports []history.Seq // OpenAt of the reports that came
}

const twoAtOnce = `{"StartAt": "Both", "States": {"Both": {"Type": "Parallel", "End": true, "Branches": [
	{"StartAt": "A", "States": {"A": {"Type": "Task", "Resource": "task:work", "End": true}}},
	{"StartAt": "B", "States": {"B": {"Type": "Task", "Resource": "task:work", "End": true}}}]}}}`

func newMoving(t *testing.T, turns int) *moving {
	t.Helper()
	doc, problems := definition.Parse([]byte(twoAtOnce), definition.Options{})
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	state, turn, err := decide.Start(doc.Machine, 7, history.Start{Input: []byte("{}")}, 1)
	if err != nil {
		t.Fatal(err)
	}
	m := &moving{t: t, machine: doc.Machine, state: state, turns: turns}
	for i := range turn.Offers {
		if err := decide.HandOver(doc.Machine, state, &turn, i, history.Claim{Session: "s", Worker: "w", At: 1}); err != nil {
			t.Fatal(err)
		}
	}
	m.write(turn)
	return m
}

func (m *moving) write(t history.Turn) {
	m.rows = append(m.rows, store.Row{Seq: t.Seq, At: t.At, First: t.FirstEvent, Events: history.EncodeEvents(t.Events)})
}

// does has the execution apply a command.
func (m *moving) does(c history.Command) {
	m.t.Helper()
	turn, err := decide.Handle(m.machine, m.state, []history.Command{c}, 2)
	if err != nil || len(turn.Events) == 0 {
		m.t.Fatalf("%+v: %d events, %v", c, len(turn.Events), err)
	}
	m.write(turn)
}

func (m *moving) row(branch string) history.RowRef {
	return history.RowRef{Unit: history.UnitKey(branch), Attempt: 1, Offer: 1}
}

func (m *moving) Report(_ context.Context, rs []store.Report) ([]store.ReportOutcome, error) {
	out := make([]store.ReportOutcome, len(rs))
	for i, r := range rs {
		m.reports = append(m.reports, r.OpenAt)
		if out[i] = store.ReportUnclear; r.OpenAt == m.state.LastSeq() {
			out[i] = store.ReportAccepted
		}
	}
	return out, nil
}

func (m *moving) Load(context.Context, []history.ExecutionID, store.LoadFrom) ([]store.Loaded, error) {
	m.loads++
	l := store.Loaded{Execution: store.Execution{ID: 7, Status: history.Running}, Turns: slices.Clone(m.rows)}
	if m.turns > 0 {
		m.turns--
		m.does(history.Command{Kind: history.KindHeartbeat, Row: m.row("Both[1]/B"), Output: []byte{byte('1' + m.turns)}})
	}
	return []store.Loaded{l}, nil
}

// TestUnclearReports: of a task whose row is owed only the state tells whether its attempt is open, once the execution has
// moved on.
func TestUnclearReports(t *testing.T) {
	a := history.Command{Kind: history.KindComplete, Row: history.RowRef{Unit: "Both[0]/A", Attempt: 1, Offer: 1}, Output: []byte("1")}
	other := a
	other.Row.Unit = "Both[1]/B"
	tests := []struct {
		name    string
		before  []history.Command // what the execution has applied since it was handed over
		turns   int               // that follow meanwhile, one with each load
		want    store.ReportOutcome
		reports []history.Seq
	}{
		{"nothing has followed", nil, 0, store.ReportAccepted, []history.Seq{1}},
		{"the other task is done", []history.Command{other}, 0, store.ReportAccepted, []history.Seq{1, 2}},
		{"it moves on", []history.Command{{Kind: history.KindHeartbeat, Row: other.Row, Output: []byte("9")}}, 2, store.ReportAccepted, []history.Seq{1, 2, 3, 4}},
		{"it moves on and on", []history.Command{{Kind: history.KindHeartbeat, Row: other.Row, Output: []byte("9")}}, 8, store.ReportRetry, []history.Seq{1, 2, 3, 4, 5}},
		{"it was reported", []history.Command{a}, 0, store.ReportDuplicate, []history.Seq{1}},
		{"it was taken away", []history.Command{{Kind: history.KindCancel}}, 0, store.ReportStale, []history.Seq{1}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m := newMoving(t, tt.turns)
			for _, c := range tt.before {
				m.does(c)
			}
			r := store.Report{Kind: history.KindComplete, Execution: 7, Row: a.Row, Output: []byte("1"), OpenAt: 1}
			got, err := New(m, Options{}).enter(t.Context(), []store.Report{r})
			if err != nil || got[0] != tt.want || !slices.Equal(m.reports, tt.reports) {
				t.Errorf("%v, %v after reports as of %v; want %s after %v", got, err, m.reports, tt.want, tt.reports)
			}
		})
	}
}
