package node

import (
	"context"
	"fmt"
	"sync"

	"github.com/orrery-dev/orrery/shared/definition"
	"github.com/orrery-dev/orrery/shared/history"
	"github.com/orrery-dev/orrery/shared/store"
)

// machines keeps parsed definitions by their number. A published version never changes.
type machines struct {
	store historyStore

	mu     sync.Mutex
	parsed map[history.DefinitionID]machine
}

// machine is a parsed definition, or why it could not be parsed.
type machine struct {
	*definition.Machine
	err error
}

// maxMachines bounds what is kept; beyond it, keeping begins anew.
const maxMachines = 500

func newMachines(s historyStore) *machines {
	return &machines{store: s, parsed: map[history.DefinitionID]machine{}}
}

// fetch reads the definitions of the executions that are not kept yet. The error is the database's.
func (m *machines) fetch(ctx context.Context, rows []store.Loaded) error {
	var missing []history.DefinitionID
	m.mu.Lock()
	for i := range rows {
		if _, ok := m.parsed[rows[i].Definition]; !ok {
			missing = append(missing, rows[i].Definition)
		}
	}
	m.mu.Unlock()
	return m.read(ctx, missing)
}

func (m *machines) read(ctx context.Context, ids []history.DefinitionID) error {
	if len(ids) == 0 {
		return nil
	}
	list, err := m.store.DefinitionsByID(ctx, ids)
	if err != nil {
		return fmt.Errorf("node: read definitions %v: %w", ids, err)
	}
	for i := range list {
		m.keep(&list[i])
	}
	return nil
}

func (m *machines) keep(d *store.Definition) {
	var x machine
	doc, problems := definition.Parse(d.Document, definition.Options{Strict: d.Strict})
	if err := problems.Err(); err != nil {
		x.err = fmt.Errorf("node: definition %d: %w", d.ID, err)
	} else {
		x.Machine = doc.Machine
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.parsed) >= maxMachines {
		clear(m.parsed)
	}
	m.parsed[d.ID] = x
}

// known gives a machine that was fetched.
func (m *machines) known(id history.DefinitionID) (*definition.Machine, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	x, ok := m.parsed[id]
	if !ok {
		return nil, fmt.Errorf("node: definition %d: %w", id, store.ErrNotFound)
	}
	return x.Machine, x.err
}

// get gives a machine, from memory or from the database.
func (m *machines) get(ctx context.Context, id history.DefinitionID) (*definition.Machine, error) {
	m.mu.Lock()
	_, ok := m.parsed[id]
	m.mu.Unlock()
	if !ok {
		if err := m.read(ctx, []history.DefinitionID{id}); err != nil {
			return nil, err
		}
	}
	return m.known(id)
}
