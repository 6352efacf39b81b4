package store

import (
	"context"
	"time"

	"github.com/orrery-dev/orrery/shared/history"
)

// Settings are those of the whole cluster, fixed when the database is initialised or changed by hand.
type Settings struct {
	Partitions int
	MACKey     []byte // 32 bytes; task tokens are signed with it
	Behaviour  int    // the level of decisions that all live nodes can make
	Now        history.Time
}

// Settings reads them.
func (s *Store) Settings(ctx context.Context) (Settings, error) { panic("not written") }

// Namespace finds a namespace. ErrNotFound when there is none.
func (s *Store) Namespace(ctx context.Context, name string) (history.NamespaceID, error) {
	panic("not written")
}

// MakePartitions makes the day partitions of history and snapshots for today and the days after it, and returns how many
// were missing.
func (s *Store) MakePartitions(ctx context.Context, days int) (made int, err error) {
	panic("not written")
}

// Cleaning says what the cleaner removes.
type Cleaning struct {
	SessionTimeout time.Duration // sessions silent for four of it go
	Limit          int           // rows of each kind in one call
}

// Cleaned counts what one call has removed.
type Cleaned struct {
	Busy     bool // another cleaner is at work; nothing was done
	Sessions int
	Tasks    int
	Replies  int
	Nodes    int
	Keys     int
	Flags    int
}

// Clean removes rows that nobody needs. One cleaner works at a time.
func (s *Store) Clean(ctx context.Context, c Cleaning) (Cleaned, error) { panic("not written") }
