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

// JoinRequest registers a process as a node.
type JoinRequest struct {
	Node      string // unique among running nodes
	Address   string // where others reach it; empty for nowhere
	Behaviour int    // the highest level of decisions that it can make
	// Timeout is the node timeout: another incarnation whose heartbeat is younger keeps the id.
	Timeout time.Duration
}

// Joined is the identity of one incarnation.
type Joined struct {
	Fence       history.FenceNumber
	Incarnation string // UUID
	Now         history.Time
}

// DuplicateNodeError refuses a node id that another incarnation holds and still heartbeats under.
type DuplicateNodeError struct {
	Node string
	Age  time.Duration // of the other's heartbeat
}

func (e *DuplicateNodeError) Error() string {
	return fmt.Sprintf("store: another node %q is running, it heartbeated %d ms ago", e.Node, e.Age.Milliseconds())
}

var (
	joinRivalSQL  = query("join_rival")
	joinExpireSQL = query("join_expire")
	joinSQL       = query("join")
	heartbeatSQL  = query("heartbeat")
	leaveSQL      = query("leave")
)

// Join registers a new incarnation. An older one under the same id whose heartbeat has expired is fenced first, which
// waits for its running commits and ends their sessions after a second. The error is a *DuplicateNodeError while the
// other one is alive; the caller decides how long to try.
func (s *Store) Join(ctx context.Context, q JoinRequest) (Joined, error) {
	rival, err := s.rival(ctx, q.Node)
	switch {
	case err != nil && !errors.Is(err, ErrNotFound):
		return Joined{}, err
	case err == nil && rival.age < q.Timeout:
		return Joined{}, &DuplicateNodeError{Node: q.Node, Age: rival.age}
	}
	var rows []joinedRow
	err = s.underFences(ctx, fences{exclusive: rival.fence}, func(p *pipeline) {
		p.exec(joinExpireSQL, args{"node": q.Node, "timeout": q.Timeout.Milliseconds(), "now": s.now()})
		collect(p, joinSQL, args{"node": q.Node, "address": q.Address, "behaviour": q.Behaviour, "now": s.now()}, &rows)
	})
	var pg *pgconn.PgError
	if errors.As(err, &pg) && pg.ConstraintName == "node_id" {
		// Another has joined under the id meanwhile, or the rival was not dead after all.
		return Joined{}, &DuplicateNodeError{Node: q.Node}
	}
	if err != nil {
		return Joined{}, fmt.Errorf("store: join as %s: %w", q.Node, translateWrite(err))
	}
	r := rows[0]
	return Joined{Fence: history.FenceNumber(r.Fence), Incarnation: r.Incarnation, Now: instant(r.Now)}, nil
}

type joinedRow struct {
	Fence       int32
	Incarnation string
	Now         pgtype.Timestamptz
}

// rival is the incarnation that runs under a node id.
type rival struct {
	fence history.FenceNumber
	age   time.Duration
}

func (s *Store) rival(ctx context.Context, node string) (rival, error) {
	type row struct {
		Fence int32
		Age   int64
	}
	r, err := one[row](ctx, s, "look for node "+node, joinRivalSQL, args{"node": node, "now": s.now()})
	return rival{history.FenceNumber(r.Fence), milliseconds(r.Age)}, err
}

// Touch is contact with a worker's session.
type Touch struct {
	Session string
	Age     time.Duration // since the contact
}

// Beat is what a heartbeat carries. The low-water keys keep each read at one row by an index, also while dead rows of
// a long transaction pile up: zero reads from the start.
type Beat struct {
	Fence history.FenceNumber
	Node  string // its id, to tell a duplicate
	// Bare sends the update alone: for beats after one that took more than 100 ms, with Look over the pool beside it.
	Bare bool
	// Touched are the sessions that called since the last beat.
	Touched []Touch
	// Waiting are the queues that the node's open polls wait for: the beat renews their flags, so that writers ring, and
	// tells which have a row.
	Waiting []Queue
	Marks   *Marks // where to look in the queues; nil for from their start
	// InboxFrom and UnnoticedFrom: below them nothing is open in the node's partitions. WakeFrom: no timer is earlier, and nothing
	// of a schedule.
	InboxFrom     history.InboxID
	UnnoticedFrom history.TaskID
	WakeFrom      history.Time
	// ScheduleLevel is what the node knows of the definitions of schedules; zero for one that leaves schedules to others.
	ScheduleLevel int
}

// Standing is how a node's incarnation stands.
type Standing int

const (
	Member    Standing = iota // it may commit
	Fenced                    // its partitions were taken, or it has left: join again
	Duplicate                 // fenced, and another incarnation runs under the same id
)

// Pulse is what a heartbeat brings back.
type Pulse struct {
	Now      history.Time // the database's clock when the beat was written
	Standing Standing
	// Nodes are the incarnations that are neither fenced nor gone, with the ages of their heartbeats.
	Nodes []Node
	// Owners and Definitions are generations: they grow with every change of an owner, and with every publish.
	Owners      int64
	Definitions int64
	// Behaviour is the cluster's level.
	Behaviour int
	// The rest is zero in the pulse of a bare beat.

	// Inbox is the oldest unapplied entry of the node's partitions, Unnoticed the oldest claim that no turn has recorded,
	// WakeAt the earliest timer; zero for none.
	Inbox     history.InboxID
	Unnoticed history.TaskID
	WakeAt    history.Time
	// SchedulesAt is when schedules have something to do, be it now or passed; zero for never.
	SchedulesAt history.Time
	// Queued has the indexes into Beat.Waiting of queues with a row.
	Queued []int
	// Gone are touched sessions that do not exist.
	Gone []string
}

// Node is one incarnation of a node.
type Node struct {
	ID          string
	Incarnation string
	Fence       history.FenceNumber
	Address     string
	StartedAt   history.Time
	Age         time.Duration // of its heartbeat
	Behaviour   int
	Partitions  int // Nodes only
}

// Heartbeat is the one statement that an idle node sends each second.
func (s *Store) Heartbeat(ctx context.Context, b Beat) (Pulse, error) {
	return s.heartbeat(ctx, b, true, !b.Bare)
}

// Look reads what a heartbeat reads and writes nothing: it goes beside bare beats.
func (s *Store) Look(ctx context.Context, b Beat) (Pulse, error) {
	return s.heartbeat(ctx, b, false, true)
}

type pulseRow struct {
	Now         pgtype.Timestamptz
	Standing    int32
	Nodes       []nodeJSON
	Owners      int64
	Definitions int64
	Behaviour   int32
	Inbox       int64
	Unnoticed   int64
	WakeAt      pgtype.Timestamptz
	SchedulesAt pgtype.Timestamptz
	Queued      []int32
	Gone        []string
}

type nodeJSON struct {
	ID          string `json:"id"`
	Incarnation string `json:"incarnation"`
	Fence       int64  `json:"fence"`
	Address     string `json:"address"`
	Behaviour   int    `json:"behaviour"`
	Started     int64  `json:"started"` // milliseconds since 1970
	Age         int64  `json:"age"`     // milliseconds
}

func (s *Store) heartbeat(ctx context.Context, b Beat, write, look bool) (Pulse, error) {
	sessions, ages, gone := contacts(b.Touched)
	tasks, versions := contractColumns(contractsOf(b.Waiting))
	looked, full := b.Marks.stretches(b.Waiting)
	ranges := columnsOfStretches(b.Waiting, looked)
	r, err := one[pulseRow](ctx, s, "heartbeat", heartbeatSQL, args{
		"fence": int32(b.Fence), "node": b.Node, "write": write, "look": look, "now": s.now(),
		"sessions": sessions, "ages": ages,
		"tasks": tasks, "versions": versions,
		"look_namespaces": ranges.namespaces, "look_tasks": ranges.tasks, "look_versions": ranges.versions,
		"look_languages": ranges.languages, "from_ranks": ranges.fromRanks, "from_ids": ranges.fromIDs,
		"last_ranks": ranges.lastRanks, "look_queues": ranges.queues,
		"inbox_from": int64(b.InboxFrom), "unnoticed_from": int64(b.UnnoticedFrom), "wake_from": b.WakeFrom.Time(),
		"schedule_level": int32(b.ScheduleLevel),
	})
	if err != nil {
		return Pulse{}, err
	}
	if full && len(r.Queued) > 0 {
		b.Marks.lookFully()
	}
	return r.pulse(gone), nil
}

func (r *pulseRow) pulse(gone []string) Pulse {
	out := Pulse{
		Now: instant(r.Now), Standing: Standing(r.Standing), Owners: r.Owners, Definitions: r.Definitions,
		Behaviour: int(r.Behaviour), Inbox: history.InboxID(r.Inbox), Unnoticed: history.TaskID(r.Unnoticed),
		WakeAt: instant(r.WakeAt), SchedulesAt: instant(r.SchedulesAt), Gone: append(gone, r.Gone...),
	}
	for _, n := range r.Nodes {
		out.Nodes = append(out.Nodes, Node{
			ID: n.ID, Incarnation: n.Incarnation, Fence: history.FenceNumber(n.Fence), Address: n.Address,
			StartedAt: history.Time(n.Started), Age: milliseconds(n.Age), Behaviour: n.Behaviour,
		})
	}
	for _, i := range r.Queued {
		out.Queued = append(out.Queued, int(i))
	}
	return out
}

// Leave ends an incarnation: the last heartbeat of a clean stop. Claims that it handed out stand.
func (s *Store) Leave(ctx context.Context, fence history.FenceNumber) error {
	return s.exec(ctx, "leave", leaveSQL, args{"fence": int32(fence), "now": s.now()})
}
