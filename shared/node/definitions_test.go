package node

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/orrery-dev/orrery/shared/history"
	"github.com/orrery-dev/orrery/shared/store"
)

// published has one workflow, whose newest version is a number.
type published struct {
	Store
	mu      sync.Mutex
	version int
	reads   int
}

func (p *published) Definition(_ context.Context, _ history.NamespaceID, name string, version int) (store.Definition, history.Time, error) {
	p.mu.Lock()
	p.reads++
	newest := p.version
	p.mu.Unlock()
	time.Sleep(time.Millisecond) // an answer on its way
	if version == 0 {
		version = newest
	}
	return store.Definition{Name: name, Version: version}, dbNow(), nil
}

func (p *published) Publish(_ context.Context, d store.Definition) (store.Definition, bool, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.version++
	return d, true, nil
}

func TestDefinitions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, oneTask)
		n := c.join("a")
		db := &published{version: 1}
		s := local{db, n.Node}
		want := func(what string, version, reads int) {
			t.Helper()
			d, _, err := s.Definition(t.Context(), 1, "w", 0)
			if err != nil || d.Version != version || db.reads != reads {
				t.Errorf("%s: version %d after %d reads, %v; want version %d after %d", what, d.Version, db.reads, err, version, reads)
			}
		}
		want("first", 1, 1)
		want("kept", 1, 1)
		_, _, _ = s.Publish(t.Context(), store.Definition{})
		want("published here", 2, 2)
		want("kept again", 2, 2)
		db.version = 3
		n.definitions.published()
		want("after a bell", 3, 3)
		db.version = 4
		n.definitions.beaten(77)
		want("after a heartbeat with a new generation", 4, 4)
		n.definitions.hears(false)
		want("without bells", 4, 5)
		want("without bells nothing is kept", 4, 6)
	})
}

func TestReadThatAPublishOvertakesIsNotKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, oneTask)
		n := c.join("a")
		db := &published{version: 1}
		s := local{db, n.Node}
		old := make(chan int)
		go func() {
			d, _, _ := s.Definition(t.Context(), 1, "w", 0)
			old <- d.Version
		}()
		synctest.Wait()
		_, _, _ = s.Publish(t.Context(), store.Definition{})
		if d, _, _ := s.Definition(t.Context(), 1, "w", 0); d.Version != 2 {
			t.Errorf("a start after the publish got version %d", d.Version)
		}
		if v := <-old; v != 1 {
			t.Errorf("the read before it got version %d", v)
		}
		if d, _, _ := s.Definition(t.Context(), 1, "w", 0); d.Version != 2 {
			t.Errorf("a later start got version %d", d.Version)
		}
	})
}

func TestStartsShareReads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, oneTask)
		n := c.join("a")
		db := &published{version: 1}
		s := local{db, n.Node}
		n.definitions.hears(false)
		var starts sync.WaitGroup
		for range 64 {
			starts.Go(func() { _, _, _ = s.Definition(t.Context(), 1, "w", 0) })
		}
		starts.Wait()
		if db.reads > 2 {
			t.Errorf("64 starts at once took %d reads", db.reads)
		}
	})
}
