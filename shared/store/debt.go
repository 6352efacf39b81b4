package store

import (
	"context"

	"github.com/orrery-dev/orrery/shared/history"
)

// A task that is handed over in the commit of its turn gets no row in the queue at first, and the timer that comes with it is
// not written either: most such tasks are reported to the owner before anybody else asks for them, and a row with its
// indexes costs more than the turn. What holds instead:
//
//  1. The commit that owes says so in one row for all its executions: a debt of the incarnation.
//  2. The owner writes the rows and the timers of what is not over soon, and removes debts that are paid or void.
//  3. Who takes or is given a partition inherits what is owed there, in that transaction. Whoever loads an execution
//     finds what it owes by comparing its state with its rows.
//  4. The unique index of the rows is the arbiter still (I6, I7). Who withdraws or gives up such a hand-out writes its row first,
//     as claimed; who reports it elsewhere writes it as done. The second of them finds the row of the first.

// HandOut is a task that was handed over by an earlier commit.
type HandOut struct {
	history.Offer                     // with its claim, whose PollID is empty where it is not known any more
	From          history.FenceNumber // who handed it out
	Turn          history.Seq         // that did; zero where that is not known any more
}

// Debt is what an incarnation has inherited.
type Debt struct {
	ID   int64
	From history.FenceNumber // who has left it to be written
	// Executions are those that run still, with their partitions.
	Executions []history.ExecutionID
	Partitions []history.Partition
}

var (
	debtSQL  = query("debt")
	debtsSQL = query("debts")
	paidSQL  = query("paid")
	owedSQL  = query("owed")
)

// Debts lists what the incarnation has inherited, but for the debts that the caller knows.
func (s *Store) Debts(ctx context.Context, fence history.FenceNumber, known []int64) ([]Debt, error) {
	type row struct {
		ID         int64
		Origin     int32
		Executions []int64
		Partitions []int16
	}
	if known == nil {
		known = []int64{} // NULL would leave every debt out
	}
	rows, err := list[row](ctx, s, "read debts", debtsSQL, args{"fence": int32(fence), "known": known})
	var out []Debt
	for _, r := range rows {
		d := Debt{ID: r.ID, From: history.FenceNumber(r.Origin)}
		for i, id := range r.Executions {
			d.Executions = append(d.Executions, history.ExecutionID(id))
			d.Partitions = append(d.Partitions, history.Partition(r.Partitions[i]))
		}
		out = append(out, d)
	}
	return out, err
}

// Paid removes debts of the incarnation: whatever they name is written, or not needed any more.
func (s *Store) Paid(ctx context.Context, fence history.FenceNumber, debts []int64) error {
	return s.exec(ctx, "remove debts", paidSQL, args{"fence": int32(fence), "debts": debts})
}
