package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/orrery-dev/orrery/shared/history"
)

// RunClaim asks for occurrences to start.
type RunClaim struct {
	Claimant string // the process, for people
	// Workflows and Directs are how many the caller can start now: those whose target is a workflow, and those that it runs
	// itself, which may take as long as Room.
	Workflows, Directs int
	Room               time.Duration
	Lease              time.Duration
	Level              int       // as in DueQuery
	From               time.Time // as in DueQuery, zero for all
}

// ClaimRef names one claim of an occurrence. No other claim of it has the number, also one of the same process.
type ClaimRef struct {
	Occurrence history.OccurrenceID
	Claim      int
}

// ClaimedRun is an occurrence that was claimed.
type ClaimedRun struct {
	ClaimRef
	Schedule  history.ScheduleID
	Name      string // of the schedule
	Version   int    // of its newest definition
	State     ScheduleState
	Namespace history.NamespaceID
	// NamespaceName is what clients call the namespace.
	NamespaceName string
	Instant       time.Time
	Due           time.Time
	Trigger       string
	Overlap       Overlap
	Retry         int
	Attempt       int
	Deferrals     int
	Token         int64  // fencing token, zero without a key
	Key           string // empty where runs may overlap
	Input         []byte // in place of the schedule's; nil for none
	// WorkflowVersion is what an earlier try ran, zero for none.
	WorkflowVersion int
	// CancelledBy and CancelReason are set where somebody has asked for its end.
	CancelledBy, CancelReason string
}

// KeyRef names a singleton key.
type KeyRef struct {
	Namespace history.NamespaceID
	Key       string
}

// ClaimedRuns is the result of ClaimRuns.
type ClaimedRuns struct {
	Now  time.Time
	Runs []ClaimedRun // by instant
	// Missed counts those that were ended because their deadline for a start was over.
	Missed int
	// Idle are keys that say that something waits for them, and nothing does: see QuietKeys.
	Idle []KeyRef
}

var (
	missSQL             = query("miss")
	claimOccurrencesSQL = query("claim_occurrences")
	quietKeysSQL        = query("quiet_keys")
	holdOccurrencesSQL  = query("hold_occurrences")
	lockKeysSQL         = query("lock_keys")
	grantKeysSQL        = query("grant_keys")
	recordStartsSQL     = query("record_starts")
	contendSQL          = query("contend")
	settleRunsSQL       = query("settle_runs")
	renewSQL            = query("renew")
	holdersSQL          = query("holders")
	askCancelSQL        = query("ask_cancel")
)

// missLimit bounds how many missed deadlines one claim ends.
const missLimit = 500

type claimedRunRow struct {
	Now             pgtype.Timestamptz
	IdleNamespaces  []int32
	IdleKeys        []string
	ID              int64
	Schedule        int64
	Namespace       int32
	NamespaceName   string
	Name            string
	Version         int32
	State           string
	Instant         pgtype.Timestamptz
	DueAt           pgtype.Timestamptz
	Trigger         string
	Overlap         string
	Retry           int32
	Attempt         int32
	Claim           int32
	Deferrals       int32
	Token           int64
	Key             string
	Input           string
	WorkflowVersion int32
	CancelledBy     string
	CancelReason    string
}

func (r *claimedRunRow) run() ClaimedRun {
	out := ClaimedRun{
		ClaimRef: ClaimRef{history.OccurrenceID(r.ID), int(r.Claim)}, Schedule: history.ScheduleID(r.Schedule), Name: r.Name,
		Version: int(r.Version), State: ScheduleState(r.State), Namespace: history.NamespaceID(r.Namespace),
		NamespaceName: r.NamespaceName, Instant: r.Instant.Time, Due: r.DueAt.Time, Trigger: r.Trigger, Overlap: Overlap(r.Overlap),
		Retry: int(r.Retry), Attempt: int(r.Attempt), Deferrals: int(r.Deferrals), Token: r.Token, Key: r.Key,
		WorkflowVersion: int(r.WorkflowVersion), CancelledBy: r.CancelledBy, CancelReason: r.CancelReason,
	}
	if r.Input != "" {
		out.Input = []byte(r.Input)
	}
	return out
}

// ClaimRuns claims occurrences that are due, oldest first, and ends those that come too late for a first start.
func (s *Store) ClaimRuns(ctx context.Context, q RunClaim) (ClaimedRuns, error) {
	var missed []struct{ ID int64 }
	var rows []claimedRunRow
	p := s.pipeline()
	p.begin()
	collect(p, missSQL, args{"limit": int32(missLimit), "now": s.now()}, &missed)
	collect(p, claimOccurrencesSQL, args{
		"claimant": q.Claimant, "workflows": int32(q.Workflows), "directs": int32(q.Directs), "room": q.Room.Milliseconds(),
		"lease": q.Lease.Milliseconds(), "level": int32(q.Level), "from": q.From, "now": s.now(),
	}, &rows)
	p.commit()
	if err := p.run(ctx); err != nil {
		return ClaimedRuns{}, fmt.Errorf("store: claim occurrences: %w", translateWrite(err))
	}
	out := ClaimedRuns{Now: rows[0].Now.Time, Missed: len(missed)}
	for i, ns := range rows[0].IdleNamespaces {
		out.Idle = append(out.Idle, KeyRef{history.NamespaceID(ns), rows[0].IdleKeys[i]})
	}
	for i := range rows {
		if rows[i].ID != 0 {
			out.Runs = append(out.Runs, rows[i].run())
		}
	}
	return out, nil
}

// QuietKeys notes that nothing waits for the keys, where nothing does.
func (s *Store) QuietKeys(ctx context.Context, keys []KeyRef) error {
	namespaces, names := keyColumns(keys)
	p := s.pipeline()
	p.begin()
	p.exec(lockKeysSQL, args{"namespaces": namespaces, "keys": names})
	p.exec(quietKeysSQL, args{"namespaces": namespaces, "keys": names})
	p.commit()
	if err := p.run(ctx); err != nil {
		return fmt.Errorf("store: quiet %d keys: %w", len(keys), translateWrite(err))
	}
	return nil
}

func keyColumns(keys []KeyRef) (namespaces []int32, names []string) {
	for _, k := range keys {
		namespaces = append(namespaces, int32(k.Namespace))
		names = append(names, k.Key)
	}
	return namespaces, names
}

// RunStart is one claimed occurrence to start.
type RunStart struct {
	ClaimRef
	Key KeyRef // Key.Key is empty for none
	// Item is the first turn of the execution that is its target; nil for a direct target. Item.Epoch and Item.Turn.Execution
	// are not used.
	Item *Item
	// WorkflowVersion is what the execution runs, zero for a direct target.
	WorkflowVersion int
	// Context is the W3C traceparent that the work gets.
	Context string
}

// StartErrorKind says why occurrences could not be started, and with that what becomes of them.
type StartErrorKind int

const (
	// StartLost: they are not under these claims any more. Somebody else decides.
	StartLost StartErrorKind = iota + 1
	// StartBusy: their keys are held, or others wait for them longer.
	StartBusy
	// StartTaken: the names of their executions are taken.
	StartTaken
	// StartArchived: their schedules are archived.
	StartArchived
	// StartStale: their fencing tokens are not greater than those that were given meanwhile. Claim them anew.
	StartStale
	// StartLimited: their namespaces have as many active executions as they may.
	StartLimited
)

// StartError names the occurrences that keep a batch from being started. Nothing was written; the others go again at once.
type StartError struct {
	Kind        StartErrorKind
	Occurrences []history.OccurrenceID
	Err         error
}

func (e *StartError) Error() string {
	return fmt.Sprintf("store: start occurrences %v: %v", e.Occurrences, e.Err)
}

func (e *StartError) Unwrap() error { return e.Err }

var startErrorKinds = map[string]StartErrorKind{
	"OR006": StartLost, "OR007": StartBusy, "OR008": StartTaken, "OR009": StartArchived, "OR010": StartStale,
	"OR013": StartLimited,
}

// StartRuns starts claimed occurrences in one transaction: it takes their keys, writes the first turns of their executions
// and a trace for each, and they are running. There is no instant at which work runs without its key, and none at which it
// runs unseen. The error is a *StartError where some of them are at fault. It may be called again after an unknown outcome:
// an occurrence that was started is lost then, unless its target is a direct one.
func (s *Store) StartRuns(ctx context.Context, starts []RunStart, lease time.Duration) error {
	c := runColumnsOf(starts)
	p := s.pipeline()
	p.begin()
	p.exec(holdOccurrencesSQL, args{"occurrences": c.occurrences, "claims": c.claims})
	if len(c.keyed) > 0 {
		p.exec(lockKeysSQL, args{"namespaces": c.namespaces, "keys": c.keys})
		p.exec(grantKeysSQL, args{"occurrences": c.keyed, "now": s.now()})
	}
	if len(c.items) > 0 {
		columnsOfItems(0, c.items).write(p)
	}
	p.exec(recordStartsSQL, args{
		"occurrences": c.occurrences, "claims": c.claims, "names": c.names, "contexts": c.contexts,
		"workflow_versions": c.workflowVersions, "lease": lease.Milliseconds(), "now": s.now(),
	})
	if len(c.ended.occurrences) > 0 {
		p.exec(settleRunsSQL, c.ended.args(s))
	}
	p.commit()
	p.ring(c.bells)
	err := p.run(ctx)
	var pg *pgconn.PgError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &pg) && startErrorKinds[pg.Code] != 0:
		return &StartError{startErrorKinds[pg.Code], numbers[history.OccurrenceID](pg.Detail), err}
	}
	return fmt.Errorf("store: start %d occurrences: %w", len(starts), translateWrite(err))
}

type runColumns struct {
	occurrences      []int64
	claims           []int32
	names            []*string
	contexts         []string
	workflowVersions []*int32
	keyed            []int64
	namespaces       []int32
	keys             []string
	items            []Item
	bells            Bells
	ended            settledColumns // executions that end with their first turn
}

func runColumnsOf(starts []RunStart) *runColumns {
	c := &runColumns{}
	for i := range starts {
		x := &starts[i]
		c.occurrences = append(c.occurrences, int64(x.Occurrence))
		c.claims = append(c.claims, int32(x.Claim))
		c.contexts = append(c.contexts, x.Context)
		if x.Key.Key != "" {
			c.keyed = append(c.keyed, int64(x.Occurrence))
			c.namespaces = append(c.namespaces, int32(x.Key.Namespace))
			c.keys = append(c.keys, x.Key.Key)
		}
		if x.Item == nil {
			c.names, c.workflowVersions = append(c.names, nil), append(c.workflowVersions, nil)
			continue
		}
		c.add(x)
	}
	return c
}

// add notes the execution that an occurrence starts.
func (c *runColumns) add(x *RunStart) {
	version := int32(x.WorkflowVersion)
	c.names, c.workflowVersions = append(c.names, &x.Item.New.Name), append(c.workflowVersions, &version)
	c.items = append(c.items, *x.Item)
	c.bells.Add(*x.Item)
	if x.Item.Turn.WakeAt != 0 {
		c.bells.Inbox = append(c.bells.Inbox, x.Item.Partition)
	}
	if end := x.Item.Turn.End; end != nil {
		outcome, reason := outcomeOf(end)
		c.ended.add(RunEnd{ClaimRef: x.ClaimRef, Outcome: outcome, Reason: reason, Result: end.Output})
	}
}

// Contention is what becomes of an occurrence that found its key held.
type Contention struct {
	ClaimRef
	Key    KeyRef
	Policy ContentionPolicy
	Oldest bool // WaitOne: the oldest of those that wait is kept, not the newest
	Limit  int  // WaitAll
}

// ContentionPolicy is what an occurrence does that found its key held.
type ContentionPolicy string

const (
	WaitNot  ContentionPolicy = "skip"
	WaitOne  ContentionPolicy = "one"   // one of its schedule may wait
	WaitAll  ContentionPolicy = "all"   // up to a limit
	WaitTurn ContentionPolicy = "queue" // all
)

// Verdict is what has become of an occurrence that found its key held.
type Verdict string

const (
	Buffered Verdict = "buffered"
	Skipped  Verdict = "skipped"
	Overrun  Verdict = "overrun" // skipped, because the buffer is full
)

// Contend has occurrences skipped or wait for their keys. The error is a *StartError of StartLost where some are not under
// these claims any more.
func (s *Store) Contend(ctx context.Context, cs []Contention) (map[history.OccurrenceID]Verdict, error) {
	var occurrences []int64
	var claims, limits []int32
	var policies []string
	var oldests []bool
	var keys []KeyRef
	for _, c := range cs {
		occurrences, claims = append(occurrences, int64(c.Occurrence)), append(claims, int32(c.Claim))
		policies, oldests, limits = append(policies, string(c.Policy)), append(oldests, c.Oldest), append(limits, int32(c.Limit))
		keys = append(keys, c.Key)
	}
	namespaces, names := keyColumns(keys)
	var rows []struct {
		ID      int64
		Verdict string
	}
	p := s.pipeline()
	p.begin()
	p.exec(holdOccurrencesSQL, args{"occurrences": occurrences, "claims": claims})
	p.exec(lockKeysSQL, args{"namespaces": namespaces, "keys": names})
	collect(p, contendSQL, args{
		"occurrences": occurrences, "policies": policies, "oldests": oldests, "limits": limits, "now": s.now(),
	}, &rows)
	p.commit()
	err := p.run(ctx)
	var pg *pgconn.PgError
	switch {
	case errors.As(err, &pg) && startErrorKinds[pg.Code] != 0:
		return nil, &StartError{startErrorKinds[pg.Code], numbers[history.OccurrenceID](pg.Detail), err}
	case err != nil:
		return nil, fmt.Errorf("store: contend for keys: %w", translateWrite(err))
	}
	out := map[history.OccurrenceID]Verdict{}
	for _, r := range rows {
		out[history.OccurrenceID(r.ID)] = Verdict(r.Verdict)
	}
	return out, nil
}

// Holder is an occurrence that holds a key.
type Holder struct {
	ClaimRef
	Key KeyRef
	// Execution is the name of what it has started; empty for a direct target.
	Execution string
}

// Holders reads who holds the keys.
func (s *Store) Holders(ctx context.Context, keys []KeyRef) ([]Holder, error) {
	type row struct {
		ID            int64
		Claim         int32
		Execution     int64
		ExecutionName string
		Namespace     int32
		Key           string
	}
	namespaces, names := keyColumns(keys)
	rows, err := list[row](ctx, s, "read the holders of keys", holdersSQL, args{"namespaces": namespaces, "keys": names})
	var out []Holder
	for _, r := range rows {
		out = append(out, Holder{
			ClaimRef:  ClaimRef{history.OccurrenceID(r.ID), int(r.Claim)},
			Key:       KeyRef{history.NamespaceID(r.Namespace), r.Key},
			Execution: r.ExecutionName,
		})
	}
	return out, err
}

// AskCancel asks for the end of what runners do under leases.
func (s *Store) AskCancel(ctx context.Context, ids []history.OccurrenceID, by, reason string) error {
	return s.exec(ctx, "ask for the end of runs", askCancelSQL, args{"occurrences": int64s(ids), "by": by, "reason": reason})
}
