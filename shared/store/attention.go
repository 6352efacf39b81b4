package store

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/orrery-dev/orrery/shared/history"
)

var (
	attentionSQL   = query("attention")
	deadLettersSQL = query("dead_letters")
)

// AttentionKey is a place in the list of what waits for a human, which is ordered by execution, then by row. An execution
// itself has the zero row, before its units.
type AttentionKey struct {
	Execution history.ExecutionID
	Row       history.RowRef
}

// Attention is one thing that waits for a human: an execution that is blocked, or a unit whose outcome nobody knows.
type Attention struct {
	AttentionKey
	Name     string // of the execution
	Workflow string
	Version  int
	// Reason is why the execution is blocked; empty for a unit.
	Reason string
	// Contract is the unit's, and Redelivery the number of its last delivery, from 0.
	Contract   history.Contract
	Redelivery int
	// Since is when the execution was blocked, or when the unit's last row was claimed.
	Since history.Time
}

// AttentionQuery reads what waits in a namespace, behind a place in the list.
type AttentionQuery struct {
	Namespace history.NamespaceID
	After     AttentionKey // the zero key for the first page
	Limit     int          // from 1
}

// AttentionPage is one page of the list. Its cost is bounded whatever waits: a page may be shorter than the limit, or empty,
// and still have a next one.
type AttentionPage struct {
	Items []Attention
	// Next is where the next page begins; the zero key on the last.
	Next AttentionKey
}

type attentionRow struct {
	EndExecution         int64 // the last place that was read, where there may be more behind it
	EndUnit              string
	EndAttempt, EndOffer int32
	Execution            int64
	Unit                 string
	Attempt, Offer       int32
	Name, Workflow       string
	WorkflowVersion      int32
	Reason, Task         string
	Version, Redelivery  int32
	Since                pgtype.Timestamptz
}

func (r *attentionRow) item() Attention {
	return Attention{
		AttentionKey: attentionKey(r.Execution, r.Unit, r.Attempt, r.Offer), Name: r.Name, Workflow: r.Workflow,
		Version: int(r.WorkflowVersion), Reason: r.Reason, Contract: history.Contract{Task: r.Task, Version: int(r.Version)},
		Redelivery: int(r.Redelivery), Since: instant(r.Since),
	}
}

func attentionKey(execution int64, unit string, attempt, offer int32) AttentionKey {
	return AttentionKey{
		Execution: history.ExecutionID(execution),
		Row:       history.RowRef{Unit: history.UnitKey(unit), Attempt: int(attempt), Offer: int(offer)},
	}
}

// Attention reads one page.
func (s *Store) Attention(ctx context.Context, q AttentionQuery) (AttentionPage, error) {
	return s.attention(ctx, q, listWindow)
}

func (s *Store) attention(ctx context.Context, q AttentionQuery, window int) (AttentionPage, error) {
	q.Limit = max(q.Limit, 1)
	rows, err := list[attentionRow](ctx, s, "read what waits for a human", attentionSQL, args{
		"execution": int64(q.After.Execution), "unit": string(q.After.Row.Unit), "attempt": int32(q.After.Row.Attempt),
		"offer": int32(q.After.Row.Offer), "namespace": int32(q.Namespace), "window": window, "limit": q.Limit,
	})
	if err != nil {
		return AttentionPage{}, err
	}
	var page AttentionPage
	for i := range rows {
		if rows[i].Execution != 0 { // the one row of an empty page says where the next begins
			page.Items = append(page.Items, rows[i].item())
		}
	}
	if len(page.Items) == q.Limit {
		page.Next = page.Items[q.Limit-1].AttentionKey
	} else {
		r := rows[0]
		page.Next = attentionKey(r.EndExecution, r.EndUnit, r.EndAttempt, r.EndOffer)
	}
	return page, nil
}

// DeadLetter is an occurrence that waits for a human: its tries are used up, or it was too late for its start.
type DeadLetter struct {
	Occurrence history.OccurrenceID
	Schedule   string
	Instant    time.Time
	Tries      int // 0 where it was too late
	Reason     string
	At         history.Time
}

// DeadLetters reads one page of a namespace's, by number, behind one.
func (s *Store) DeadLetters(ctx context.Context, ns history.NamespaceID, after history.OccurrenceID, limit int) ([]DeadLetter, error) {
	type row struct {
		Occurrence int64
		Schedule   string
		Instant    time.Time
		Tries      int32
		Reason     string
		At         pgtype.Timestamptz
	}
	rows, err := list[row](ctx, s, "list occurrences that wait for a human", deadLettersSQL, args{
		"namespace": int32(ns), "after_occurrence": int64(after), "limit": limit,
	})
	var out []DeadLetter
	for _, r := range rows {
		out = append(out, DeadLetter{history.OccurrenceID(r.Occurrence), r.Schedule, r.Instant, int(r.Tries), r.Reason, instant(r.At)})
	}
	return out, err
}
