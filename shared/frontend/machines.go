package frontend

import (
	"fmt"
	"sync"

	"github.com/orrery-dev/orrery/shared/definition"
	"github.com/orrery-dev/orrery/shared/store"
)

// maxMachines bounds the cache; beyond it the cache begins anew.
const maxMachines = 256

// machines caches parsed documents by their content hash. A document never changes under its hash.
type machines struct {
	mu    sync.Mutex
	known map[string]*definition.Machine
}

func newMachines() *machines { return &machines{known: map[string]*definition.Machine{}} }

// get gives a machine that was parsed before, or nil.
func (m *machines) get(hash string) *definition.Machine {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.known[hash]
}

// parse gives the machine of a published document.
func (m *machines) parse(d *store.Definition) (*definition.Machine, error) {
	if machine := m.get(d.Hash); machine != nil {
		return machine, nil
	}
	doc, problems := definition.Parse(d.Document, definition.Options{Strict: d.Strict})
	if err := problems.Err(); err != nil {
		return nil, fmt.Errorf("frontend: published document %s: %w", d.Hash, err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.known) >= maxMachines {
		clear(m.known)
	}
	m.known[d.Hash] = doc.Machine
	return doc.Machine, nil
}
