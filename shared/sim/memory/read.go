package memory

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/orrery-dev/orrery/shared/history"
	"github.com/orrery-dev/orrery/shared/store"
)

// Settings reads what the cluster shares.
func (m *Store) Settings(context.Context) (s store.Settings, _ error) {
	m.read(func() {
		s = store.Settings{Partitions: len(m.partitions), MACKey: make([]byte, 32), Behaviour: 1, Now: m.now()}
	})
	return s, nil
}

// Namespace knows the one namespace.
func (m *Store) Namespace(_ context.Context, name string) (history.NamespaceID, error) {
	if name != "default" {
		return 0, missing("find namespace " + name)
	}
	return Namespace, nil
}

// Publish stores a version of a workflow.
func (m *Store) Publish(_ context.Context, d store.Definition) (out store.Definition, created bool, err error) {
	err = m.transact(func(x *tx) error {
		newest := m.newest(d.Namespace, d.Name, 0)
		switch {
		case d.Version == 0 && newest != nil && newest.Hash == d.Hash:
			d.Version = newest.Version
		case d.Version == 0 && newest != nil:
			d.Version = newest.Version + 1
		case d.Version == 0:
			d.Version = 1
		}
		if old := m.newest(d.Namespace, d.Name, d.Version); old != nil {
			if out = *old; old.Hash != d.Hash {
				return fmt.Errorf("memory: publish %s: %w", d.Name, store.ErrVersionExists)
			}
			return nil
		}
		d.ID, d.PublishedAt = history.DefinitionID(m.next()), m.now()
		add(x, &m.definitions, d)
		set(x, &m.published, m.published+1)
		x.bells.Definitions = true
		out, created = d, true
		return nil
	})
	if err != nil {
		return store.Definition{}, false, err
	}
	return out, created, nil
}

// newest is a version of a workflow, 0 for the newest; nil where there is none.
func (m *Store) newest(ns history.NamespaceID, name string, version int) (found *store.Definition) {
	for i := range m.definitions {
		d := &m.definitions[i]
		if d.Namespace == ns && d.Name == name && (version == 0 || d.Version == version) && (found == nil || found.Version < d.Version) {
			found = d
		}
	}
	return found
}

func (m *Store) definition(id history.DefinitionID) store.Definition {
	i := slices.IndexFunc(m.definitions, func(d store.Definition) bool { return d.ID == id })
	return m.definitions[i]
}

// Definition reads one version.
func (m *Store) Definition(_ context.Context, ns history.NamespaceID, name string, version int) (out store.Definition, now history.Time, err error) {
	m.read(func() {
		now = m.now()
		d := m.newest(ns, name, version)
		if d == nil {
			err = missing("read workflow " + name)
			return
		}
		out = *d
	})
	return out, now, err
}

// Contracts lists none: nobody registers any here.
func (m *Store) Contracts(context.Context, ...history.NamespaceID) ([]store.Contract, error) {
	return nil, nil
}

// DefinitionsByID reads versions by number.
func (m *Store) DefinitionsByID(_ context.Context, ids []history.DefinitionID) (out []store.Definition, _ error) {
	m.read(func() {
		for _, d := range m.definitions {
			if !slices.Contains(ids, d.ID) {
				continue
			}
			if m.broken(NewestDocument) {
				d.Document = m.newest(d.Namespace, d.Name, 0).Document
			}
			out = append(out, d)
		}
	})
	return out, nil
}

// Load reads executions with their histories and owners.
func (m *Store) Load(_ context.Context, ids []history.ExecutionID, from store.LoadFrom) (out []store.Loaded, _ error) {
	m.read(func() {
		for _, e := range m.executions {
			if !slices.Contains(ids, e.ID) {
				continue
			}
			o := m.partitions[e.Partition]
			l := store.Loaded{Execution: e.Execution, Epoch: o.Epoch, Fence: o.Fence}
			if from == store.FromSnapshot {
				l.Snapshot, l.SnapshotSeq = e.snapshot, e.snapshotSeq
			}
			for _, t := range e.turns {
				if t.Seq > l.SnapshotSeq {
					l.Turns = append(l.Turns, t)
				}
			}
			out = append(out, l)
		}
	})
	return out, nil
}

// Named reads executions by name.
func (m *Store) Named(_ context.Context, ns history.NamespaceID, names []string) (out []store.Execution, _ error) {
	m.read(func() {
		for _, name := range names {
			if e := m.named(ns, name); e != nil {
				out = append(out, e.Execution)
			}
		}
	})
	return out, nil
}

// Execution reads one by name.
func (m *Store) Execution(_ context.Context, ns history.NamespaceID, name string) (d store.ExecutionDetail, err error) {
	m.read(func() {
		e := m.named(ns, name)
		if e == nil {
			err = missing("read execution " + name)
			return
		}
		o := m.partitions[e.Partition]
		if n := m.nodes[o.Fence]; n != nil {
			o.Node, o.Incarnation = n.ID, n.Incarnation
		}
		d = store.ExecutionDetail{Execution: e.Execution, Owner: o, First: e.turns[0], Last: e.turns[len(e.turns)-1]}
	})
	return d, err
}

// History reads turns, forwards.
func (m *Store) History(_ context.Context, q store.HistoryQuery) (out []store.Row, _ error) {
	m.read(func() {
		for _, t := range m.execution(q.Execution).turns {
			if t.Seq >= q.From && len(out) < q.Limit {
				out = append(out, t)
			}
		}
	})
	return out, nil
}

// Due returns executions with a timer in [from, until], earliest first.
func (m *Store) Due(_ context.Context, ps []history.Partition, from, until history.Time, limit int) (out []store.DueExecution, _ error) {
	m.read(func() {
		for _, e := range m.executions {
			if slices.Contains(ps, e.Partition) && e.WakeAt != 0 && e.WakeAt >= from && e.WakeAt <= until && e.Blocked == "" {
				out = append(out, store.DueExecution{Execution: e.ID, Partition: e.Partition, WakeAt: e.WakeAt})
			}
		}
	})
	slices.SortStableFunc(out, func(a, b store.DueExecution) int { return cmp.Compare(a.WakeAt, b.WakeAt) })
	return out[:min(limit, len(out))], nil
}

// MakePartitions has nothing to make.
func (m *Store) MakePartitions(context.Context, int) (int, error) { return 0, nil }

// Expire, Days, KeepDay, DropDay and CountActive have nothing to do: everything is kept, in one place, and nothing limited.
func (m *Store) Expire(context.Context, store.Expiry) (store.Expired, error) {
	return store.Expired{}, nil
}
func (m *Store) Days(context.Context) ([]store.Day, error)            { return nil, nil }
func (m *Store) KeepDay(context.Context, time.Time, int) (int, error) { return 0, nil }
func (m *Store) DropDay(context.Context, time.Time) (bool, error)     { return false, nil }
func (m *Store) CountActive(context.Context) (int64, error)           { return 0, nil }

// Clean removes rows that nobody needs.
func (m *Store) Clean(_ context.Context, c store.Cleaning) (out store.Cleaned, err error) {
	err = m.transact(func(x *tx) error {
		since := func(at history.Time) time.Duration { return m.clock().Sub(at.Time()) }
		out.Tasks = remove(x, &m.tasks, func(t *task) bool {
			e, s := m.execution(t.Execution), m.session(t.Claim.Session)
			return e.EndedAt != 0 && since(e.EndedAt) > time.Minute || t.state == "cancelled" && (s == nil || s.closed)
		})
		for _, e := range slices.Clone(m.inbox) {
			if e.reply != nil && m.clock().Sub(e.at) > time.Minute {
				m.keep(x, e)
				out.Replies++
			}
		}
		out.Sessions = remove(x, &m.sessions, func(s *session) bool {
			return (s.closed || m.clock().Sub(s.seen) > 4*c.SessionTimeout) && !slices.ContainsFunc(m.tasks, func(t *task) bool {
				return t.Claim.Session == s.ID && (t.state == "claimed" || t.state == "cancelled")
			})
		})
		out.Debts = remove(x, &m.debts, func(d *debt) bool {
			return !slices.ContainsFunc(m.partitions, func(o store.Owner) bool { return o.Fence == d.fence })
		})
		return nil
	})
	return out, err
}
