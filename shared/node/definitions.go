package node

import (
	"context"
	"sync"
	"time"

	"github.com/orrery-dev/orrery/shared/history"
	"github.com/orrery-dev/orrery/shared/store"
)

// definitions lets starts share reads of the definition that they begin with. A published version never changes, so it is
// kept. Which one is the newest is read anew: a start that follows a publish must see it, wherever that was. But starts
// that come together share a read that begins after all of them:
//
//	callers  a    b c  d     e
//	reads    |--a--|--bcd--|--e--|
type definitions struct {
	mu    sync.Mutex
	kept  map[definitionKey]store.Definition
	bytes int // of the documents in kept
	lines map[definitionKey]*readLine
}

type definitionKey struct {
	namespace history.NamespaceID
	name      string
	version   int // zero for the newest
}

// readLine is one key that is being read; next is what comes after that, nil while nobody waits for it.
type readLine struct{ next *reading }

// reading is one read for all its callers.
type reading struct {
	done       chan struct{} // closed with the answer
	definition store.Definition
	now        history.Time
	err        error
}

const (
	// keptBytes bounds the documents that are kept; beyond it, keeping begins anew.
	keptBytes = 16 << 20
	// readTime bounds a shared read, which does not end with its first caller.
	readTime = 5 * time.Second
)

func newDefinitions() *definitions {
	return &definitions{kept: map[definitionKey]store.Definition{}, lines: map[definitionKey]*readLine{}}
}

// Definition reads one version, 0 for the newest, with the database's time.
func (s local) Definition(ctx context.Context, ns history.NamespaceID, name string, version int) (store.Definition, history.Time, error) {
	key := definitionKey{ns, name, version}
	d := s.node.definitions
	if x, ok := d.get(key); ok {
		return x, s.node.clock.now(), nil
	}
	r := d.join(context.WithoutCancel(ctx), key, s.Store)
	select {
	case <-r.done:
		return r.definition, r.now, r.err
	case <-ctx.Done():
		return store.Definition{}, 0, ctx.Err()
	}
}

func (d *definitions) get(key definitionKey) (store.Definition, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	x, ok := d.kept[key]
	return x, ok
}

// join gives the read of the key that has not begun yet.
func (d *definitions) join(ctx context.Context, key definitionKey, s Store) *reading {
	d.mu.Lock()
	defer d.mu.Unlock()
	line := d.lines[key]
	if line == nil {
		line = &readLine{}
		d.lines[key] = line
		defer func() { go d.read(ctx, key, line, s) }() // it ends when nobody waits any more
	}
	if line.next == nil {
		line.next = &reading{done: make(chan struct{})}
	}
	return line.next
}

// read serves a key until nobody waits for it.
func (d *definitions) read(ctx context.Context, key definitionKey, line *readLine, s Store) {
	for {
		d.mu.Lock()
		r := line.next
		line.next = nil
		if r == nil {
			delete(d.lines, key)
			d.mu.Unlock()
			return
		}
		d.mu.Unlock()
		timed, cancel := context.WithTimeout(ctx, readTime)
		r.definition, r.now, r.err = s.Definition(timed, key.namespace, key.name, key.version)
		cancel()
		if r.err == nil {
			d.keep(key.namespace, r.definition)
		}
		close(r.done)
	}
}

func (d *definitions) keep(ns history.NamespaceID, x store.Definition) {
	d.mu.Lock()
	defer d.mu.Unlock()
	key := definitionKey{ns, x.Name, x.Version}
	if _, ok := d.kept[key]; ok {
		return
	}
	if d.bytes += len(x.Document); d.bytes > keptBytes {
		clear(d.kept)
		d.bytes = len(x.Document)
	}
	d.kept[key] = x
}
