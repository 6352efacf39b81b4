package store

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/orrery-dev/orrery/shared/history"
)

// Row is one turn as history keeps it.
type Row struct {
	Seq    history.Seq
	At     history.Time
	First  history.EventID // the number of its first event
	Events []byte          // history.DecodeEvents reads it
}

// Loaded is an execution with what its state is folded from.
type Loaded struct {
	Execution
	// Epoch and Fence are of the partition's owner, read in the same snapshot as the rest.
	Epoch history.Epoch
	Fence history.FenceNumber
	// BlockedBy is the incarnation that has blocked it for itself alone, zero for none; Blocked is empty then, unless it is the owner.
	BlockedBy history.FenceNumber
	// Snapshot is the newest encoded state, nil for none, after turn SnapshotSeq.
	Snapshot    []byte
	SnapshotSeq history.Seq
	// Turns follow the snapshot, in order, up to Execution.Seq.
	Turns []Row
}

// LoadFrom says where the fold begins.
type LoadFrom int

const (
	FromSnapshot LoadFrom = iota
	// FromStart leaves the snapshots out: for one that this version cannot read.
	FromStart
)

var (
	loadSQL        = query("load")
	loadTurnsSQL   = query("load_turns")
	inboxSQL       = query("inbox")
	inboxOfSQL     = query("inbox_of")
	unnoticedSQL   = query("unnoticed")
	unnoticedOfSQL = query("unnoticed_of")
	rowsOfSQL      = query("rows_of")
	rowlessSQL     = query("rowless")
	dueSQL         = query("due")
	lostClaimsSQL  = query("lost_claims")
	heardSQL       = query("heard")
	blockedSQL     = query("blocked")
)

// Load reads executions for their owner, or for somebody who shows their state. Those that do not exist are missing in the
// result, which is by number.
func (s *Store) Load(ctx context.Context, ids []history.ExecutionID, from LoadFrom) ([]Loaded, error) {
	a := args{"executions": int64s(ids), "snapshots": from == FromSnapshot}
	var rows []loadedRow
	var turns []turnRow
	p := s.pipeline()
	p.snapshot()
	collect(p, loadSQL, a, &rows)
	collect(p, loadTurnsSQL, a, &turns)
	p.commit()
	if err := p.run(ctx); err != nil {
		return nil, fmt.Errorf("store: load %d executions: %w", len(ids), translateRead(err))
	}
	out := make([]Loaded, len(rows))
	at := 0 // both are by execution
	for i := range rows {
		out[i] = rows[i].loaded()
		for ; at < len(turns) && turns[at].Execution == rows[i].ID; at++ {
			out[i].Turns = append(out[i].Turns, turns[at].row())
		}
	}
	return out, nil
}

type loadedRow struct {
	executionRow
	Epoch       int64
	Fence       int32
	BlockedBy   int32
	SnapshotSeq int32
	State       []byte
}

func (r *loadedRow) loaded() Loaded {
	return Loaded{
		Execution: r.execution(), Epoch: history.Epoch(r.Epoch), Fence: history.FenceNumber(r.Fence),
		BlockedBy: history.FenceNumber(r.BlockedBy), Snapshot: r.State, SnapshotSeq: history.Seq(r.SnapshotSeq),
	}
}

type turnRow struct {
	Execution int64
	historyRow
}

// Entry is an inbox entry that is not applied yet. Command.Inbox and Command.Awaited are set, Command.Seed is not.
type Entry struct {
	EntryRef
	Partition history.Partition
	Command   history.Command
	SentAt    history.Time
}

// EntryRef names an inbox entry.
type EntryRef struct {
	Execution history.ExecutionID
	ID        history.InboxID
}

// InboxQuery reads the unapplied entries of partitions.
type InboxQuery struct {
	Partitions []history.Partition
	// From is a low-water key: entries below it are not looked for.
	From history.InboxID
	// Except are executions to leave out: those that wait for something. Blocked ones are left out by themselves.
	Except []history.ExecutionID
	Limit  int // in all
}

// Inbox returns entries by number, oldest first; of each execution the oldest come first.
func (s *Store) Inbox(ctx context.Context, q InboxQuery) ([]Entry, error) {
	rows, err := list[entryRow](ctx, s, "read inbox", inboxSQL, args{
		"partitions": int16s(q.Partitions), "from": int64(q.From), "except": int64s(q.Except), "limit": q.Limit,
	})
	return entries(rows), err
}

// InboxOf returns the entries of the given executions, by number: for an execution that has just been loaded.
func (s *Store) InboxOf(ctx context.Context, ids []history.ExecutionID, limit int) ([]Entry, error) {
	rows, err := list[entryRow](ctx, s, "read inbox of executions", inboxOfSQL, args{"executions": int64s(ids), "limit": limit})
	return entries(rows), err
}

// Pending is what waits for executions that have just been loaded.
type Pending struct {
	Entries []Entry          // of their inboxes, by number
	Claims  []UnnoticedClaim // by number of their rows
	Rows    []Holding        // that they have in the queue, whatever their state
}

// Pending reads it in one round trip; limit bounds the entries.
func (s *Store) Pending(ctx context.Context, ids []history.ExecutionID, limit int) (Pending, error) {
	type row struct {
		Execution int64
		Unit      string
		Attempt   int32
		Offer     int32
	}
	var inbox []entryRow
	var claims []unnoticedRow
	var rows []row
	executions := int64s(ids)
	p := s.pipeline()
	collect(p, inboxOfSQL, args{"executions": executions, "limit": limit}, &inbox)
	collect(p, unnoticedOfSQL, args{"executions": executions}, &claims)
	collect(p, rowsOfSQL, args{"executions": executions}, &rows)
	if err := p.run(ctx); err != nil {
		return Pending{}, fmt.Errorf("store: read what waits for %d executions: %w", len(ids), translateRead(err))
	}
	out := Pending{Entries: entries(inbox), Claims: unnoticedClaims(claims)}
	for _, r := range rows {
		out.Rows = append(out.Rows, Holding{history.ExecutionID(r.Execution), rowRef(r.Unit, r.Attempt, r.Offer)})
	}
	return out, nil
}

type entryRow struct {
	Execution  int64
	ID         int64
	Partition  int16
	SentAt     pgtype.Timestamptz
	Kind       string
	Awaited    bool
	Unit       string
	Attempt    int32
	Offer      int32
	Session    string
	Worker     string
	ClaimedAt  pgtype.Timestamptz
	Output     *string
	Signal     string
	Reason     string
	Error      *string
	Cause      string
	Details    *string
	Final      bool
	Resolution string
	Request    string
	Status     int16
	EndedAt    pgtype.Timestamptz
}

func entries(rows []entryRow) []Entry {
	var out []Entry
	for i := range rows {
		out = append(out, rows[i].entry())
	}
	return out
}

func (r *entryRow) entry() Entry {
	e := Entry{
		EntryRef:  EntryRef{history.ExecutionID(r.Execution), history.InboxID(r.ID)},
		Partition: history.Partition(r.Partition), SentAt: instant(r.SentAt),
		Command: history.Command{
			Kind: history.Kind(r.Kind), Inbox: history.InboxID(r.ID), Awaited: r.Awaited,
			Row:    rowRef(r.Unit, r.Attempt, r.Offer),
			Claim:  history.Claim{Session: r.Session, Worker: r.Worker, At: instant(r.ClaimedAt)},
			Output: bytes(r.Output), Signal: r.Signal, Reason: r.Reason, Resolution: r.Resolution, RequestID: r.Request,
			Status: history.Status(r.Status), At: instant(r.EndedAt),
		},
	}
	e.Command.Terminate = e.Command.Kind == history.KindCancel && r.Final
	if r.Error != nil {
		e.Command.Failure = &history.Failure{
			Code: *r.Error, Message: r.Cause, NonRetryable: r.Final, Details: bytes(r.Details),
		}
	}
	return e
}

// UnnoticedClaim is a claimed row whose dispatch no turn has recorded; the row may be 'done' or 'lost' by now.
type UnnoticedClaim struct {
	Task      history.TaskID
	Partition history.Partition
	Execution history.ExecutionID
	Row       history.RowRef
	Claim     history.Claim
}

// Unnoticed returns such claims of the partitions from the low-water key on, oldest first.
func (s *Store) Unnoticed(ctx context.Context, ps []history.Partition, from history.TaskID, limit int) ([]UnnoticedClaim, error) {
	rows, err := list[unnoticedRow](ctx, s, "read unnoticed claims", unnoticedSQL, args{
		"partitions": int16s(ps), "from": int64(from), "limit": limit,
	})
	return unnoticedClaims(rows), err
}

type unnoticedRow struct {
	ID        int64
	Partition int16
	Execution int64
	Unit      string
	Attempt   int32
	Offer     int32
	Session   string
	Worker    string
	Poll      string
	ClaimedAt pgtype.Timestamptz
}

func unnoticedClaims(rows []unnoticedRow) []UnnoticedClaim {
	var out []UnnoticedClaim
	for _, r := range rows {
		id := history.TaskID(r.ID)
		out = append(out, UnnoticedClaim{
			Task: id, Partition: history.Partition(r.Partition), Execution: history.ExecutionID(r.Execution),
			Row:   rowRef(r.Unit, r.Attempt, r.Offer),
			Claim: history.Claim{Task: id, Session: r.Session, Worker: r.Worker, PollID: r.Poll, At: instant(r.ClaimedAt)},
		})
	}
	return out
}

func rowRef(unit string, attempt, offer int32) history.RowRef {
	return history.RowRef{Unit: history.UnitKey(unit), Attempt: int(attempt), Offer: int(offer)}
}

// DueExecution is an execution with a timer.
type DueExecution struct {
	Execution history.ExecutionID
	Partition history.Partition
	WakeAt    history.Time
}

// Due returns running executions of the partitions with a timer in [from, until], earliest first.
func (s *Store) Due(ctx context.Context, ps []history.Partition, from, until history.Time, limit int) ([]DueExecution, error) {
	type row struct {
		Execution int64
		Partition int16
		WakeAt    pgtype.Timestamptz
	}
	rows, err := list[row](ctx, s, "read timers", dueSQL, args{
		"partitions": int16s(ps), "from": from.Time(), "until": until.Time(), "limit": limit,
	})
	var out []DueExecution
	for _, r := range rows {
		out = append(out, DueExecution{history.ExecutionID(r.Execution), history.Partition(r.Partition), instant(r.WakeAt)})
	}
	return out, err
}

// LostClaim is a claimed row whose holder is gone.
type LostClaim struct {
	Partition history.Partition
	Execution history.ExecutionID
	Row       history.RowRef
	Session   string
	// Reason is "session" or "incarnation".
	Reason string
}

// LostQuery finds them.
type LostQuery struct {
	Partitions []history.Partition
	// SessionTimeout: a session without contact for longer is lost, and so is a claim of a dead incarnation that no
	// heartbeat has listed for longer.
	SessionTimeout time.Duration
	// NodeTimeout: an incarnation without a heartbeat for longer is dead.
	NodeTimeout time.Duration
	Limit       int
}

// LostClaims joins the claimed rows of the partitions with sessions and incarnations.
func (s *Store) LostClaims(ctx context.Context, q LostQuery) ([]LostClaim, error) {
	type row struct {
		Partition int16
		Execution int64
		Unit      string
		Attempt   int32
		Offer     int32
		Session   string
		Reason    string
	}
	rows, err := list[row](ctx, s, "look for lost claims", lostClaimsSQL, args{
		"partitions": int16s(q.Partitions), "session_timeout": q.SessionTimeout.Milliseconds(),
		"node_timeout": q.NodeTimeout.Milliseconds(), "limit": q.Limit, "now": s.now(),
	})
	var out []LostClaim
	for _, r := range rows {
		out = append(out, LostClaim{
			Partition: history.Partition(r.Partition), Execution: history.ExecutionID(r.Execution),
			Row: rowRef(r.Unit, r.Attempt, r.Offer), Session: r.Session, Reason: r.Reason,
		})
	}
	return out, err
}

// Holding names one hand-out that a session holds.
type Holding struct {
	Execution history.ExecutionID
	Row       history.RowRef
}

// Heard tells when the session last listed each holding in a heartbeat; those that its last heartbeat did not list are
// missing.
func (s *Store) Heard(ctx context.Context, session string, hs []Holding) (map[Holding]history.Time, error) {
	type row struct {
		Place  int64
		BeatAt pgtype.Timestamptz
	}
	out := map[Holding]history.Time{}
	if !isUUID(session) {
		return out, nil
	}
	names := make([]string, len(hs))
	for i, h := range hs {
		names[i] = h.name()
	}
	rows, err := list[row](ctx, s, "read what a session holds", heardSQL, args{"session": session, "holdings": names})
	for _, r := range rows {
		out[hs[r.Place-1]] = instant(r.BeatAt)
	}
	return out, err
}

// name is how a session's row lists the holding.
func (h Holding) name() string {
	return fmt.Sprintf("%d/%d/%d/%s", h.Execution, h.Row.Attempt, h.Row.Offer, h.Row.Unit)
}

// Placed names an execution and its partition.
type Placed struct {
	Execution history.ExecutionID
	Partition history.Partition
}

// BlockedElsewhere lists executions of the partitions, which the incarnation owns, that others could not serve.
func (s *Store) BlockedElsewhere(ctx context.Context, fence history.FenceNumber, ps []history.Partition, limit int) ([]Placed, error) {
	type row struct {
		Execution int64
		Partition int16
	}
	rows, err := list[row](ctx, s, "read blocked executions", blockedSQL, args{"partitions": int16s(ps), "fence": int32(fence), "limit": limit})
	var out []Placed
	for _, r := range rows {
		out = append(out, Placed{history.ExecutionID(r.Execution), history.Partition(r.Partition)})
	}
	return out, err
}

// RowlessQuery is one step of a walk over executions that looks for those without a row in the queue.
type RowlessQuery struct {
	Partitions []history.Partition
	After      history.ExecutionID // where the walk has come to; zero to begin
	Window     int                 // executions to look at
	Limit      int                 // executions to return
}

// RowlessStep is what a step has found.
type RowlessStep struct {
	Executions []Placed            // that run and have no row in the queue: they wait for something else, or the row is lost
	Last       history.ExecutionID // where the next step goes on; zero when the walk is over
}

// Rowless makes one step.
func (s *Store) Rowless(ctx context.Context, q RowlessQuery) (RowlessStep, error) {
	type row struct {
		Execution int64
		Partition int16
		Last      int64
	}
	rows, err := list[row](ctx, s, "look for executions without rows", rowlessSQL, args{
		"partitions": int16s(q.Partitions), "after": int64(q.After), "window": q.Window, "limit": q.Limit, "now": s.now(),
	})
	var out RowlessStep
	for _, r := range rows {
		out.Last = history.ExecutionID(r.Last)
		if r.Execution != 0 {
			out.Executions = append(out.Executions, Placed{history.ExecutionID(r.Execution), history.Partition(r.Partition)})
		}
	}
	return out, err
}
