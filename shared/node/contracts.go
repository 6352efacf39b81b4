package node

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/orrery-dev/orrery/shared/definition"
	"github.com/orrery-dev/orrery/shared/frontend"
	"github.com/orrery-dev/orrery/shared/history"
	"github.com/orrery-dev/orrery/shared/store"
	"github.com/orrery-dev/orrery/shared/telemetry"
)

// contracts keeps the schemas of the contracts of every namespace of which this node has had an execution. They are read
// again when something says that anything was published or registered: until that read is over, decisions see the old ones.
type contracts struct {
	store historyStore

	mu   sync.Mutex
	kept map[history.NamespaceID]frontend.Contracts
	age  int // of the definitions, when what is kept was read
}

func newContracts(s historyStore) *contracts {
	return &contracts{store: s, kept: map[history.NamespaceID]frontend.Contracts{}}
}

// of gives the schemas of a contract.
func (c *contracts) of(ns history.NamespaceID, key history.Contract) definition.Contract {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.kept[ns].Of(key)
}

// fetch reads the contracts of those namespaces that are not kept yet.
func (c *contracts) fetch(ctx context.Context, namespaces ...history.NamespaceID) error {
	var missing []history.NamespaceID
	c.mu.Lock()
	for _, ns := range namespaces {
		if _, ok := c.kept[ns]; !ok {
			missing = append(missing, ns)
		}
	}
	c.mu.Unlock()
	return c.read(ctx, missing)
}

// renew reads everything again that is kept, where it is older than the definitions are.
func (c *contracts) renew(ctx context.Context, age int) error {
	var all []history.NamespaceID
	c.mu.Lock()
	if c.age != age {
		for ns := range c.kept {
			all = append(all, ns)
		}
	}
	c.mu.Unlock()
	if err := c.read(ctx, all); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.age = max(c.age, age)
	return nil
}

func (c *contracts) read(ctx context.Context, namespaces []history.NamespaceID) error {
	if len(namespaces) == 0 {
		return nil
	}
	list, err := c.store.Contracts(ctx, namespaces...)
	if err != nil {
		return fmt.Errorf("node: read contracts: %w", err)
	}
	read, err := frontend.ParseContracts(list)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, ns := range namespaces {
		c.kept[ns] = read[ns]
	}
	return nil
}

// renewContracts makes decisions see what was registered. Where the database cannot be read, the next heartbeat tries again.
func (n *Node) renewContracts(ctx context.Context, within time.Duration) {
	timed, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	if err := n.contracts.renew(timed, n.definitions.now()); err != nil && ctx.Err() == nil {
		n.log.Warn("what was registered cannot be read", telemetry.KeyError, err)
	}
}

// SetContract registers a version of a contract. What this node decides from now on sees it.
func (s local) SetContract(ctx context.Context, x store.Contract) (store.Contract, bool, error) {
	x, created, err := s.Store.SetContract(ctx, x)
	s.node.definitions.published()
	s.node.renewContracts(ctx, readTime)
	return x, created, err
}

// DeleteContract takes a contract away, for this node at once.
func (s local) DeleteContract(ctx context.Context, ns history.NamespaceID, c history.Contract) (store.Contract, error) {
	x, err := s.Store.DeleteContract(ctx, ns, c)
	s.node.definitions.published()
	s.node.renewContracts(ctx, readTime)
	return x, err
}
