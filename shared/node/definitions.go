package node

import (
	"context"
	"sync"
	"time"

	"github.com/orrery-dev/orrery/shared/history"
	"github.com/orrery-dev/orrery/shared/store"
)

// definitions keeps the definitions that starts begin with. A published version never changes. Which one is the newest is
// kept until something says that one was published: a publish through this node, the bell, or the generation that the
// heartbeat tells; and not at all while bells cannot be heard or heartbeats are not confirmed. What is not kept is read,
// so a start never misses a workflow on account of what is kept.
//
// Starts that come together share a read that begins after all of them:
//
//	callers  a    b c  d     e
//	reads    |--a--|--bcd--|--e--|
type definitions struct {
	mu         sync.Mutex
	kept       map[definitionKey]store.Definition
	aliases    map[aliasKey]store.Alias // forgotten with what is the newest
	bytes      int                      // of the documents in kept
	lines      map[definitionKey]*readLine
	listening  bool  // bells are heard
	generation int64 // as the heartbeat told last
	age        int   // counts the times at which something may have been published
}

type definitionKey struct {
	namespace history.NamespaceID
	name      string
	version   int // zero for the newest
}

type aliasKey struct {
	namespace      history.NamespaceID
	workflow, name string
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
	// keptAliases bounds the aliases that are kept.
	keptAliases = 10_000
	// readTime bounds a shared read, which does not end with its first caller.
	readTime = 5 * time.Second
)

func newDefinitions() *definitions {
	return &definitions{
		kept: map[definitionKey]store.Definition{}, aliases: map[aliasKey]store.Alias{}, lines: map[definitionKey]*readLine{},
	}
}

// Definition reads one version, 0 for the newest, with the database's time.
func (s local) Definition(ctx context.Context, ns history.NamespaceID, name string, version int) (store.Definition, history.Time, error) {
	key := definitionKey{ns, name, version}
	d := s.node.definitions
	generation := int64(d.now()) // this node's own count, which also grows while bells are not heard
	if s.node.notReady() == "" {
		if x, ok := d.get(key); ok {
			x.Generation = generation
			return x, s.node.clock.now(), nil
		}
	}
	r := d.join(context.WithoutCancel(ctx), key, s.Store)
	select {
	case <-r.done:
		x := r.definition
		x.Generation = generation
		return x, r.now, r.err
	case <-ctx.Done():
		return store.Definition{}, 0, ctx.Err()
	}
}

// Publish stores a version. What this node starts from now on sees it.
func (s local) Publish(ctx context.Context, x store.Definition) (store.Definition, bool, error) {
	x, created, err := s.Store.Publish(ctx, x)
	s.node.definitions.published()
	return x, created, err
}

// Alias reads an alias. It is kept like the newest version of a workflow.
func (s local) Alias(ctx context.Context, ns history.NamespaceID, workflow, name string) (store.Alias, error) {
	d, key := s.node.definitions, aliasKey{ns, workflow, name}
	if s.node.notReady() == "" {
		if a, ok := d.alias(key); ok {
			return a, nil
		}
	}
	age := d.now()
	a, err := s.Store.Alias(ctx, ns, workflow, name)
	if err == nil {
		d.keepAlias(key, a, age)
	}
	return a, err
}

// SetAlias makes or changes an alias. What this node starts from now on sees it.
func (s local) SetAlias(ctx context.Context, a store.Alias) (store.Alias, bool, error) {
	a, created, err := s.Store.SetAlias(ctx, a)
	s.node.definitions.published()
	return a, created, err
}

// DeleteAlias takes an alias away, for this node at once.
func (s local) DeleteAlias(ctx context.Context, ns history.NamespaceID, workflow, name string) (store.Alias, error) {
	a, err := s.Store.DeleteAlias(ctx, ns, workflow, name)
	s.node.definitions.published()
	return a, err
}

// published forgets which versions are the newest.
func (d *definitions) published() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.forgetNewest()
}

func (d *definitions) forgetNewest() {
	d.age++
	clear(d.aliases)
	for key, x := range d.kept {
		if key.version == 0 {
			d.bytes -= len(x.Document)
			delete(d.kept, key)
		}
	}
}

// hears notes whether bells are heard.
func (d *definitions) hears(listening bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.listening = listening
	d.forgetNewest()
}

// beaten notes the generation that a heartbeat has told.
func (d *definitions) beaten(generation int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if generation != d.generation {
		d.generation = generation
		d.forgetNewest()
	}
}

func (d *definitions) get(key definitionKey) (store.Definition, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	x, ok := d.kept[key]
	return x, ok
}

func (d *definitions) alias(key aliasKey) (store.Alias, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	a, ok := d.aliases[key]
	return a, ok
}

func (d *definitions) now() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.age
}

// keepAlias keeps what a read has found that began at the given age.
func (d *definitions) keepAlias(key aliasKey, a store.Alias, age int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if age != d.age || !d.listening {
		return
	}
	if len(d.aliases) >= keptAliases {
		clear(d.aliases)
	}
	d.aliases[key] = a
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
		age := d.age
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
			d.keep(key, r.definition, age)
		}
		close(r.done)
	}
}

// keep keeps what a read has found that began at the given age.
func (d *definitions) keep(key definitionKey, x store.Definition, age int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if key.version == 0 && (age != d.age || !d.listening) {
		return
	}
	if d.bytes += len(x.Document); d.bytes > keptBytes {
		clear(d.kept)
		d.bytes = len(x.Document)
	}
	d.kept[key] = x
}
