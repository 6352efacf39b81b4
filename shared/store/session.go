package store

import (
	"context"
	"time"

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

// Register opens a session.
func (s *Store) Register(ctx context.Context, r Registration) (Session, error) { panic("not written") }

// Session reads a session. ErrNotFound when it was closed or cleaned away.
func (s *Store) Session(ctx context.Context, id string) (Session, error) { panic("not written") }

// Touch records contact with sessions, as ages, and returns those that do not exist. Nodes send contacts with their
// heartbeats instead.
func (s *Store) Touch(ctx context.Context, ts []Touch) (gone []string, err error) {
	panic("not written")
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
	panic("not written")
}

// Deregister closes a session and gives back what it held, by 'lost' entries to the owners. ErrNotFound when it does not exist.
func (s *Store) Deregister(ctx context.Context, id string) ([]Holding, error) { panic("not written") }
