package store

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/orrery-dev/orrery/shared/history"
)

// Registration opens a worker's session.
type Registration struct {
	Namespace history.NamespaceID
	Worker    string
	Language  string // lower case, "" for none
	Contracts []history.Contract
}

// Session is a worker's session.
type Session struct {
	ID string // UUID
	Registration
	RegisteredAt history.Time
	Age          time.Duration // since the last contact
	InFlight     int           // attempts that it holds; Workers only
}

var (
	registerSQL             = query("register")
	sessionSQL              = query("session")
	touchSQL                = query("touch")
	lockSessionSQL          = query("lock_session")
	lockHeldSQL             = query("lock_held")
	workerBeatExecutionsSQL = query("worker_beat_executions")
	workerBeatTasksSQL      = query("worker_beat_tasks")
	workerBeatEnterSQL      = query("worker_beat_enter")
	workerBeatSQL           = query("worker_beat")
	deregisterExecutionsSQL = query("deregister_executions")
	deregisterSQL           = query("deregister")
)

// isUUID tells whether a client's word can name a session: any other names none.
func isUUID(id string) bool {
	_, err := uuid.Parse(id)
	return err == nil && len(id) == 36
}

// Register opens a session.
func (s *Store) Register(ctx context.Context, r Registration) (Session, error) {
	type row struct {
		ID           string
		RegisteredAt pgtype.Timestamptz
	}
	tasks, versions := contractColumns(r.Contracts)
	rows, err := write[row](ctx, s, "register worker "+r.Worker, registerSQL, args{
		"namespace": int32(r.Namespace), "worker": r.Worker, "language": r.Language, "tasks": tasks, "versions": versions,
		"now": s.now(),
	})
	if err != nil {
		return Session{}, err
	}
	return Session{ID: rows[0].ID, Registration: r, RegisteredAt: instant(rows[0].RegisteredAt)}, nil
}

type sessionRow struct {
	ID           string
	Namespace    int32
	Worker       string
	Language     string
	Tasks        []string
	Versions     []int32
	RegisteredAt pgtype.Timestamptz
	Age          int64
	InFlight     int64
}

func (r *sessionRow) session() Session {
	out := Session{
		ID: r.ID, RegisteredAt: instant(r.RegisteredAt), Age: milliseconds(r.Age), InFlight: int(r.InFlight),
		Registration: Registration{Namespace: history.NamespaceID(r.Namespace), Worker: r.Worker, Language: r.Language},
	}
	for i, task := range r.Tasks {
		out.Contracts = append(out.Contracts, history.Contract{Task: task, Version: int(r.Versions[i])})
	}
	return out
}

// Session reads a session. ErrNotFound when it was closed or cleaned away.
func (s *Store) Session(ctx context.Context, id string) (Session, error) {
	if !isUUID(id) {
		return Session{}, fmt.Errorf("store: read a session: %w", ErrNotFound)
	}
	r, err := one[sessionRow](ctx, s, "read a session", sessionSQL, args{"session": id, "now": s.now()})
	if err != nil {
		return Session{}, err
	}
	return r.session(), nil
}

// Touch records contact with sessions, as ages, and returns those that do not exist. Nodes send contacts with their
// heartbeats instead.
func (s *Store) Touch(ctx context.Context, ts []Touch) (gone []string, err error) {
	type row struct{ Session string }
	sessions, ages, gone := contacts(ts)
	rows, err := write[row](ctx, s, "touch sessions", touchSQL, args{"sessions": sessions, "ages": ages, "now": s.now()})
	for _, r := range rows {
		gone = append(gone, r.Session)
	}
	return gone, err
}

// contacts are touches as statements take them, and those that cannot be of any session.
func contacts(ts []Touch) (sessions []string, ages []int64, gone []string) {
	for _, t := range ts {
		if !isUUID(t.Session) {
			gone = append(gone, t.Session)
			continue
		}
		sessions = append(sessions, t.Session)
		ages = append(ages, t.Age.Milliseconds())
	}
	return sessions, ages, gone
}

// WorkerBeat is a worker's heartbeat.
type WorkerBeat struct {
	Session string
	Number  int64 // raised by the worker; a number that is not higher than the last is ignored
	// Interval is the heartbeat interval: a claim younger than it is not missed yet.
	Interval time.Duration
	// Held are all hand-outs that the worker holds, their tokens checked already.
	Held []HeldTask
}

// HeldTask is a task in work.
type HeldTask struct {
	Holding
	// Details are JSON, or nil; an inbox entry tells the owner when they have changed.
	Details []byte
	// Turn is the one that has handed it over, zero for none. Its row may be owed: without one it may be held all the same.
	Turn history.Seq
}

// WorkerBeatAnswer is what the worker is told.
type WorkerBeatAnswer struct {
	// Ignored: the number was not higher than the last. The lists below are answered all the same.
	Ignored bool
	// Cancelled are those of the list whose work is no longer wanted, Unknown those that are over or with another session.
	Cancelled []Holding
	Unknown   []Holding
}

// WorkerBeat records what a session holds. A claim of the session that two numbered beats have missed becomes a 'lost' entry
// in its execution's inbox. ErrNotFound when the session does not exist.
func (s *Store) WorkerBeat(ctx context.Context, b WorkerBeat) (WorkerBeatAnswer, error) {
	if !isUUID(b.Session) {
		return WorkerBeatAnswer{}, fmt.Errorf("store: heartbeat of a worker: %w", ErrNotFound)
	}
	type row struct {
		News               bool
		Cancelled, Unknown []int32
	}
	var rows []row
	c := heldColumnsOf(b.Held)
	p := s.pipeline()
	p.begin()
	p.exec(lockSessionSQL, args{"session": b.Session})
	p.exec(workerBeatExecutionsSQL, args{"session": b.Session, "beat": b.Number, "executions": c.detailed})
	p.exec(workerBeatTasksSQL, args{
		"session": b.Session, "executions": c.executions, "units": c.units, "attempts": c.attempts, "offers": c.offers,
		"details": c.details,
	})
	p.exec(workerBeatEnterSQL, args{
		"session": b.Session, "beat": b.Number, "executions": c.executions, "units": c.units, "attempts": c.attempts,
		"offers": c.offers, "details": c.details,
	})
	collect(p, workerBeatSQL, args{
		"session": b.Session, "beat": b.Number, "executions": c.executions, "units": c.units, "attempts": c.attempts,
		"offers": c.offers, "handed": c.handed, "interval": b.Interval.Milliseconds(), "now": s.now(),
	}, &rows)
	p.commit()
	if err := p.run(ctx); err != nil {
		return WorkerBeatAnswer{}, fmt.Errorf("store: heartbeat of a worker: %w", translateWrite(err))
	}
	if len(rows) == 0 {
		return WorkerBeatAnswer{}, fmt.Errorf("store: heartbeat of a worker: %w", ErrNotFound)
	}
	return WorkerBeatAnswer{
		Ignored: !rows[0].News, Cancelled: pick(b.Held, rows[0].Cancelled), Unknown: pick(b.Held, rows[0].Unknown),
	}, nil
}

// pick takes holdings by their places, from 1.
func pick(held []HeldTask, places []int32) []Holding {
	var out []Holding
	for _, p := range places {
		out = append(out, held[p-1].Holding)
	}
	return out
}

type heldColumns struct {
	executions       []int64
	detailed         []int64 // executions of holdings with details
	units            []string
	attempts, offers []int32
	details          []*string
	handed           []bool
}

func heldColumnsOf(held []HeldTask) heldColumns {
	var c heldColumns
	for _, h := range held {
		c.executions = append(c.executions, int64(h.Execution))
		c.units = append(c.units, string(h.Row.Unit))
		c.attempts = append(c.attempts, int32(h.Row.Attempt))
		c.offers = append(c.offers, int32(h.Row.Offer))
		c.details = append(c.details, text(h.Details))
		c.handed = append(c.handed, h.Turn != 0)
		if h.Details != nil {
			c.detailed = append(c.detailed, int64(h.Execution))
		}
	}
	return c
}

// Deregister closes a session and gives back what it held, by 'lost' entries to the owners. ErrNotFound when it does not exist.
func (s *Store) Deregister(ctx context.Context, id string) ([]HeldTask, error) {
	if !isUUID(id) {
		return nil, fmt.Errorf("store: deregister: %w", ErrNotFound)
	}
	type row struct {
		Session   string
		Execution *int64
		Unit      *string
		Attempt   *int32
		Offer     *int32
		Turn      int32
	}
	var rows []row
	p := s.pipeline()
	p.begin()
	p.exec(lockSessionSQL, args{"session": id})
	p.exec(deregisterExecutionsSQL, args{"session": id})
	p.exec(lockHeldSQL, args{"session": id})
	collect(p, deregisterSQL, args{"session": id}, &rows)
	p.commit()
	if err := p.run(ctx); err != nil {
		return nil, fmt.Errorf("store: deregister: %w", translateWrite(err))
	}
	if len(rows) == 0 {
		return nil, fmt.Errorf("store: deregister: %w", ErrNotFound)
	}
	var out []HeldTask
	var bells Bells
	for _, r := range rows {
		if r.Execution != nil {
			h := Holding{history.ExecutionID(*r.Execution), rowRef(*r.Unit, *r.Attempt, *r.Offer)}
			out = append(out, HeldTask{Holding: h, Turn: history.Seq(r.Turn)})
			bells.InboxOf = append(bells.InboxOf, h.Execution)
		}
	}
	// The session is closed; an owner that is not rung sees its inbox with its next heartbeat.
	_ = s.Ring(ctx, bells)
	return out, nil
}
