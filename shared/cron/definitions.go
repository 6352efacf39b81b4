package cron

import (
	"context"
	"fmt"
	"sync"

	"github.com/orrery-dev/orrery/shared/history"
)

// definitions keeps the newest definitions of schedules. A version never changes.
type definitions struct {
	store planStore

	mu    sync.Mutex
	kept  map[history.ScheduleID]kept
	bytes int // of the documents
}

// kept is a definition, or why it cannot be read.
type kept struct {
	version    int
	definition *Definition
	err        error
}

const (
	// keptBytes bounds the documents of what is kept; beyond it, keeping begins anew.
	keptBytes = 64 << 20
	// perDocument is what a definition takes beside its document, in bytes, about.
	perDocument = 2048
	// documentsAtOnce bounds one read.
	documentsAtOnce = 500
)

func newDefinitions(s planStore) *definitions {
	return &definitions{store: s, kept: map[history.ScheduleID]kept{}}
}

// wanted is a schedule with the version that is known to be there: that or a newer one is given.
type wanted struct {
	id      history.ScheduleID
	version int
}

// get gives the definitions that are there. The error is the database's.
func (d *definitions) get(ctx context.Context, list []wanted) (map[history.ScheduleID]kept, error) {
	out := make(map[history.ScheduleID]kept, len(list))
	var missing []history.ScheduleID
	d.mu.Lock()
	for _, w := range list {
		if k, ok := d.kept[w.id]; ok && k.version >= w.version {
			out[w.id] = k
		} else if _, asked := out[w.id]; !asked {
			out[w.id] = kept{err: fmt.Errorf("cron: schedule %d has no definition", w.id)}
			missing = append(missing, w.id)
		}
	}
	d.mu.Unlock()
	for len(missing) > 0 {
		n := min(len(missing), documentsAtOnce)
		if err := d.read(ctx, missing[:n], out); err != nil {
			return nil, err
		}
		missing = missing[n:]
	}
	return out, nil
}

func (d *definitions) read(ctx context.Context, ids []history.ScheduleID, into map[history.ScheduleID]kept) error {
	list, err := d.store.ScheduleDocuments(ctx, ids)
	if err != nil {
		return fmt.Errorf("cron: read definitions: %w", err)
	}
	for _, x := range list {
		k := kept{version: x.Version}
		k.definition, k.err = Read(x.Name, x.Document)
		into[x.ID] = k
		d.keep(x.ID, k, len(x.Document)+perDocument)
	}
	return nil
}

func (d *definitions) keep(id history.ScheduleID, k kept, size int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.bytes += size; d.bytes > keptBytes {
		clear(d.kept)
		d.bytes = size
	}
	d.kept[id] = k
}
