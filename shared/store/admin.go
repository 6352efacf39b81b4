package store

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/orrery-dev/orrery/shared/history"
)

// Settings are those of the whole cluster, fixed when the database is initialised or changed by hand.
type Settings struct {
	Partitions int
	MACKey     []byte // 32 bytes; task tokens are signed with it
	Behaviour  int    // the level of decisions that all live nodes can make
	Now        history.Time
}

var (
	settingsSQL        = query("settings")
	namespaceSQL       = query("namespace")
	namespacesSQL      = query("namespaces")
	makeDaysSQL        = query("make_days")
	cleanLockSQL       = query("clean_lock")
	cleanTasksSQL      = query("clean_tasks")
	cleanRepliesSQL    = query("clean_replies")
	cleanSessionsSQL   = query("clean_sessions")
	cleanNodesSQL      = query("clean_nodes")
	cleanKeysSQL       = query("clean_keys")
	cleanQueueFlagsSQL = query("clean_queue_flags")
	cleanEndFlagsSQL   = query("clean_end_flags")
	cleanDebtsSQL      = query("clean_debts")

	cleanOccurrencesSQL = query("clean_occurrences")
	cleanEventsSQL      = query("clean_events")
	raiseLevelSQL       = query("raise_level")
)

// Settings reads them.
func (s *Store) Settings(ctx context.Context) (Settings, error) {
	type row struct {
		MacKey     []byte
		Behaviour  int32
		Partitions int64
		Now        pgtype.Timestamptz
	}
	r, err := one[row](ctx, s, "read settings", settingsSQL, args{"now": s.now()})
	return Settings{int(r.Partitions), r.MacKey, int(r.Behaviour), instant(r.Now)}, err
}

// Namespace finds a namespace. ErrNotFound when there is none.
func (s *Store) Namespace(ctx context.Context, name string) (history.NamespaceID, error) {
	type row struct{ ID int32 }
	r, err := one[row](ctx, s, "find namespace "+name, namespaceSQL, args{"name": name})
	return history.NamespaceID(r.ID), err
}

// Namespaces lists the names of all namespaces.
func (s *Store) Namespaces(ctx context.Context) ([]string, error) {
	type row struct{ Name string }
	rows, err := list[row](ctx, s, "list namespaces", namespacesSQL, args{})
	names := make([]string, len(rows))
	for i, r := range rows {
		names[i] = r.Name
	}
	return names, err
}

// MakePartitions makes the day partitions of history and snapshots for today and the days after it, and returns how many
// were missing.
func (s *Store) MakePartitions(ctx context.Context, days int) (made int, err error) {
	type row struct{ Made int32 }
	rows, err := write[row](ctx, s, "make partitions", makeDaysSQL, args{"days": int32(days)})
	if err != nil {
		return 0, err
	}
	return int(rows[0].Made), nil
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
	Debts    int
	// Occurrences are those that have ended longer ago than their schedules keep them; Events is what happened to schedules.
	Occurrences int
	Events      int
}

// Counts gives the counts by their kinds.
func (c Cleaned) Counts() map[string]int {
	return map[string]int{
		"sessions": c.Sessions, "tasks": c.Tasks, "replies": c.Replies, "nodes": c.Nodes, "keys": c.Keys, "flags": c.Flags,
		"debts": c.Debts, "occurrences": c.Occurrences, "schedule events": c.Events,
	}
}

// CleanedKinds lists the kinds.
func CleanedKinds() []string { return slices.Sorted(maps.Keys(Cleaned{}.Counts())) }

// Clean removes rows that nobody needs, and raises the cluster's level of decisions where all nodes can make higher ones. One
// cleaner works at a time.
func (s *Store) Clean(ctx context.Context, c Cleaning) (Cleaned, error) {
	var out Cleaned
	limit := args{"limit": c.Limit, "now": s.now()}
	p := s.pipeline()
	p.begin()
	p.exec(cleanLockSQL, args{})
	p.count(cleanTasksSQL, limit, &out.Tasks)
	var replies []struct{ Removed int64 }
	collect(p, cleanRepliesSQL, limit, &replies)
	p.count(cleanSessionsSQL, args{"limit": c.Limit, "session_timeout": c.SessionTimeout.Milliseconds(), "now": s.now()}, &out.Sessions)
	p.count(cleanNodesSQL, limit, &out.Nodes)
	p.count(cleanKeysSQL, limit, &out.Keys)
	p.count(cleanDebtsSQL, args{"limit": c.Limit}, &out.Debts)
	p.count(cleanQueueFlagsSQL, args{"now": s.now()}, &out.Flags)
	var ends int
	p.count(cleanEndFlagsSQL, args{"now": s.now()}, &ends)
	p.count(cleanOccurrencesSQL, limit, &out.Occurrences)
	p.count(cleanEventsSQL, limit, &out.Events)
	p.exec(raiseLevelSQL, args{})
	p.commit()
	err := p.run(ctx)
	var pg *pgconn.PgError
	switch {
	case errors.As(err, &pg) && pg.Code == "OR005":
		return Cleaned{Busy: true}, nil
	case err != nil:
		return Cleaned{}, fmt.Errorf("store: clean: %w", translateWrite(err))
	}
	out.Replies = int(replies[0].Removed)
	out.Flags += ends
	return out, nil
}
