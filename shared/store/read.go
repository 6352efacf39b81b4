package store

import (
	"context"
	"math"
	"time"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/orrery-dev/orrery/shared/history"
)

// Execution is an execution's row with its workflow.
type Execution struct {
	ID         history.ExecutionID
	Namespace  history.NamespaceID
	Name       string
	Definition history.DefinitionID
	Workflow   string
	Version    int
	Hash       string // of the definition
	InputHash  []byte
	Trace      string
	Partition  history.Partition
	Status     history.Status
	Seq        history.Seq
	WakeAt     history.Time
	StartedAt  history.Time
	EndedAt    history.Time
	// Blocked is why the execution is out of service; empty when it is not.
	Blocked string
}

type executionRow struct {
	ID         int64
	Namespace  int32
	Name       string
	Definition int64
	Workflow   string
	Version    int32
	Hash       string
	InputHash  []byte
	Trace      string
	Partition  int16
	Status     int16
	Seq        int32
	WakeAt     pgtype.Timestamptz
	StartedAt  pgtype.Timestamptz
	EndedAt    pgtype.Timestamptz
	Blocked    string
}

func (r *executionRow) execution() Execution {
	return Execution{
		ID: history.ExecutionID(r.ID), Namespace: history.NamespaceID(r.Namespace), Name: r.Name,
		Definition: history.DefinitionID(r.Definition), Workflow: r.Workflow, Version: int(r.Version), Hash: r.Hash,
		InputHash: r.InputHash, Trace: r.Trace, Partition: history.Partition(r.Partition),
		Status: history.Status(r.Status), Seq: history.Seq(r.Seq), WakeAt: instant(r.WakeAt),
		StartedAt: instant(r.StartedAt), EndedAt: instant(r.EndedAt), Blocked: r.Blocked,
	}
}

type historyRow struct {
	Seq        int32
	At         pgtype.Timestamptz
	FirstEvent int32
	Events     string
}

func (r *historyRow) row() Row {
	return Row{history.Seq(r.Seq), instant(r.At), history.EventID(r.FirstEvent), []byte(r.Events)}
}

var (
	executionSQL   = query("execution")
	executionsSQL  = query("executions")
	historySQL     = query("history")
	historyDescSQL = query("history_desc")
	queuesSQL      = query("queues")
	workersSQL     = query("workers")
	nodesSQL       = query("nodes")
	depthsSQL      = query("depths")
)

// ExecutionDetail is an execution with its owner, and its first and last turn.
type ExecutionDetail struct {
	Execution
	Owner Owner
	First Row
	Last  Row
}

// Execution reads one by name. ErrNotFound when there is none.
func (s *Store) Execution(ctx context.Context, ns history.NamespaceID, name string) (ExecutionDetail, error) {
	type row struct {
		executionRow
		Epoch          int64
		Fence          int32
		Node           string
		Incarnation    string
		FirstAt        pgtype.Timestamptz
		FirstEvents    string
		LastAt         pgtype.Timestamptz
		LastFirstEvent int32
		LastEvents     string
	}
	r, err := one[row](ctx, s, "read execution "+name, executionSQL, args{"namespace": int32(ns), "name": name})
	if err != nil {
		return ExecutionDetail{}, err
	}
	first := historyRow{1, r.FirstAt, 1, r.FirstEvents}
	last := historyRow{r.Seq, r.LastAt, r.LastFirstEvent, r.LastEvents}
	return ExecutionDetail{
		Execution: r.execution(), First: first.row(), Last: last.row(),
		Owner: Owner{
			Partition: history.Partition(r.Partition), Epoch: history.Epoch(r.Epoch), Fence: history.FenceNumber(r.Fence),
			Node: r.Node, Incarnation: r.Incarnation,
		},
	}, nil
}

// Named reads executions by name, in no order; those that do not exist are missing.
func (s *Store) Named(ctx context.Context, ns history.NamespaceID, names []string) ([]Execution, error) {
	namespaces := make([]int32, len(names))
	for i := range namespaces {
		namespaces[i] = int32(ns)
	}
	rows, err := list[executionRow](ctx, s, "read executions by name", executionsByNameSQL, args{"namespaces": namespaces, "names": names})
	out := make([]Execution, len(rows))
	for i := range rows {
		out[i] = rows[i].execution()
	}
	return out, err
}

// ExecutionQuery lists executions, newest first. Zero fields do not narrow the list.
type ExecutionQuery struct {
	Namespace     history.NamespaceID
	Status        history.Status
	Workflow      string
	Version       int
	StartedAfter  history.Time
	StartedBefore history.Time
	// Attributes are what all of them have.
	Attributes []Attribute
	// Before is the cursor: only executions with a lower number.
	Before history.ExecutionID
	Limit  int // from 1
}

// ExecutionPage is one page of the list. Its cost is bounded whatever the filter: a page may be shorter than the limit, or
// empty, and still have a next one.
type ExecutionPage struct {
	Executions []Execution
	// Next is the cursor of the next page; zero on the last.
	Next history.ExecutionID
}

// Executions reads one page.
func (s *Store) Executions(ctx context.Context, q ExecutionQuery) (ExecutionPage, error) {
	type row struct {
		Lowest int64 // of the window that was read
		Full   bool  // there may be more below it
		executionRow
	}
	q.Limit = max(q.Limit, 1)
	before := int64(q.Before)
	if before == 0 {
		before = math.MaxInt64
	}
	sql, a := executionsSQL, args{
		"before": before, "window": listWindow, "namespace": int32(q.Namespace), "status": int16(q.Status),
		"workflow": q.Workflow, "version": int32(q.Version), "started_after": timestamp(q.StartedAfter),
		"started_before": timestamp(q.StartedBefore), "limit": q.Limit,
	}
	if len(q.Attributes) > 0 {
		sql, a["names"], a["values"] = executionsByAttributeSQL, names(q.Attributes), values(q.Attributes)
	}
	rows, err := list[row](ctx, s, "list executions", sql, a)
	if err != nil {
		return ExecutionPage{}, err
	}
	var page ExecutionPage
	for i := range rows {
		if rows[i].ID != 0 { // the one row of an empty page says where the next begins
			page.Executions = append(page.Executions, rows[i].execution())
		}
	}
	if len(page.Executions) == q.Limit {
		page.Next = page.Executions[q.Limit-1].ID
	} else if rows[0].Full {
		page.Next = history.ExecutionID(rows[0].Lowest)
	}
	return page, nil
}

// listWindow is how many rows one page of the list may read.
const listWindow = 10_000

// HistoryQuery reads turns of an execution.
type HistoryQuery struct {
	Execution history.ExecutionID
	// From is the first turn to read, inclusive; zero for the first, or the last when Desc is set.
	From  history.Seq
	Desc  bool
	Limit int // turns
}

// History returns turns in the order asked for.
func (s *Store) History(ctx context.Context, q HistoryQuery) ([]Row, error) {
	sql, from := historySQL, int32(q.From)
	if q.Desc {
		sql = historyDescSQL
		if q.From == 0 {
			from = math.MaxInt32
		}
	}
	rows, err := list[historyRow](ctx, s, "read history", sql, args{"execution": int64(q.Execution), "from": from, "limit": q.Limit})
	var out []Row
	for i := range rows {
		out = append(out, rows[i].row())
	}
	return out, err
}

// QueueState is the state of one contract.
type QueueState struct {
	Contract  history.Contract
	Queued    int64
	Claimed   int64
	OldestAge time.Duration // of the oldest queued row
	Workers   int64         // live sessions that announce the contract
}

// Queues lists the contracts of a namespace that have rows or workers. A session without contact for sessionTimeout is not live.
func (s *Store) Queues(ctx context.Context, ns history.NamespaceID, sessionTimeout time.Duration) ([]QueueState, error) {
	type row struct {
		Task                                string
		Version                             int32
		Queued, Claimed, OldestAge, Workers int64
	}
	rows, err := list[row](ctx, s, "read queues", queuesSQL, args{
		"namespace": int32(ns), "session_timeout": sessionTimeout.Milliseconds(), "now": s.now(),
	})
	var out []QueueState
	for _, r := range rows {
		out = append(out, QueueState{
			Contract: history.Contract{Task: r.Task, Version: int(r.Version)}, Queued: r.Queued, Claimed: r.Claimed,
			OldestAge: milliseconds(r.OldestAge), Workers: r.Workers,
		})
	}
	return out, err
}

// Workers lists the live sessions of a namespace, by worker, with what they hold.
func (s *Store) Workers(ctx context.Context, ns history.NamespaceID, sessionTimeout time.Duration) ([]Session, error) {
	rows, err := list[sessionRow](ctx, s, "read workers", workersSQL, args{
		"namespace": int32(ns), "session_timeout": sessionTimeout.Milliseconds(), "now": s.now(),
	})
	var out []Session
	for i := range rows {
		out = append(out, rows[i].session())
	}
	return out, err
}

// Nodes lists the incarnations that are neither fenced nor gone, by id.
func (s *Store) Nodes(ctx context.Context) ([]Node, error) {
	type row struct {
		ID          string
		Incarnation string
		Fence       int32
		Address     string
		Behaviour   int32
		StartedAt   pgtype.Timestamptz
		Age         int64
		Partitions  int64
	}
	rows, err := list[row](ctx, s, "read nodes", nodesSQL, args{"now": s.now()})
	var out []Node
	for _, r := range rows {
		out = append(out, Node{
			ID: r.ID, Incarnation: r.Incarnation, Fence: history.FenceNumber(r.Fence), Address: r.Address,
			StartedAt: instant(r.StartedAt), Age: milliseconds(r.Age), Behaviour: int(r.Behaviour), Partitions: int(r.Partitions),
		})
	}
	return out, err
}

// Depths are the counts that health shows.
type Depths struct {
	Queued         int64 // tasks that wait for a worker
	Claimed        int64 // tasks of the partitions asked for that workers hold
	Inbox          int64 // entries that wait for their owner
	InboxOldestAge time.Duration
	// Running are the running executions of the partitions asked for, among the newest 10,000 of all.
	Running int64
}

// Depths counts what waits, and what workers hold of the given partitions.
func (s *Store) Depths(ctx context.Context, ps []history.Partition) (Depths, error) {
	type row struct{ Queued, Claimed, Inbox, InboxOldestAge, Running int64 }
	r, err := one[row](ctx, s, "read depths", depthsSQL, args{"partitions": int16s(ps), "window": listWindow, "now": s.now()})
	return Depths{r.Queued, r.Claimed, r.Inbox, milliseconds(r.InboxOldestAge), r.Running}, err
}
